"""The server's log: faults, and nothing of a stranger that a terminal obeys."""

from __future__ import annotations

import logging
import sys

import pytest
from served_pages import TOKEN, Served

from originset.cli.serve import application


def test_a_fault_is_logged_without_controls(
    pages: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> str:
        raise ValueError("\x1b[2J\u202e")

    monkeypatch.setattr(application, "explain_files", fail)
    monkeypatch.setattr(logging.getLogger("uvicorn").handlers[0], "stream", sys.stderr)
    assert pages.upload(("page.har", b"{}")).status == 500
    assert pages.ask(f"/{TOKEN}/").status == 200
    said = capsys.readouterr().err
    assert "ValueError: \\x1b[2J\\u202e" in said
    assert "\x1b" not in said
