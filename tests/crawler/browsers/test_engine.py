"""Where browsers are found: on the path, then by Selenium Manager."""

from __future__ import annotations

from pathlib import Path

import pytest

from originset.crawler.browsers.engine import find_binary
from originset.data.errors import MissingDependency


@pytest.mark.browser
def test_a_browser_beyond_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Path(find_binary("chromium")).is_absolute()
    (tmp_path / "chromium").write_text("#!/bin/sh\n")
    (tmp_path / "chromium").chmod(0o755)
    assert find_binary("chromium") == str(tmp_path / "chromium")


def test_a_machine_without_chromium(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SE_MANAGER_PATH", "/bin/false")
    with pytest.raises(MissingDependency, match="apt-get install chromium"):
        find_binary("chromium")
