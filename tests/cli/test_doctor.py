"""What doctor says is what is there; what it proposes names everything at once."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from originset.cli import doctor
from originset.data.errors import MissingDependency


def run(*arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    env = None if path is None else {"PATH": path, "HOME": "/nonexistent"}
    call = [sys.executable, "-m", "originset", "doctor", *arguments]
    return subprocess.run(call, capture_output=True, text=True, env=env, check=False)


def test_it_finds_what_is_on_the_path(tmp_path: Path) -> None:
    (tmp_path / "chromium").write_text("#!/bin/sh\n")
    (tmp_path / "chromium").chmod(0o755)
    done = run("--format", "json", path=str(tmp_path))
    found = {row["what"]: row for row in json.loads(done.stdout)}
    assert found["Chromium"]["found"] == str(tmp_path / "chromium")
    assert found["Chromium"]["remedy"] is None
    assert found["ChromeDriver"]["found"] is None
    assert found["ChromeDriver"]["remedy"].endswith("chromium-driver")
    assert done.returncode == 1
    assert done.stderr == "something is missing: see the remedies\n"


def test_one_command_names_all_that_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor.shutil, "which", lambda name, path=None: None)
    with pytest.raises(MissingDependency) as raised:
        doctor.require("demo")
    assert raised.value.exit_code == 2
    line = str(raised.value)
    assert "chromium libnss3-tools iproute2" in line
    assert "firefox" not in line
    assert "\n" not in line
