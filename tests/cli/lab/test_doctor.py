"""What doctor lists is what is there."""

import json
import subprocess
import sys
from pathlib import Path


def run(*arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    env = None if path is None else {"PATH": path, "HOME": "/nonexistent"}
    call = [sys.executable, "-m", "originset", "lab", "doctor", *arguments]
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
    assert done.stderr == "something is missing: the column remedy has the commands that provide it\n"
