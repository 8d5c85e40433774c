"""Uploaded recordings, explained: the page of ``explain``, whatever else is among them, and nothing runs in it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hand_made_har import write_har
from served_pages import Served
from substitute_explanations import explained, interpreter_held, process_ended

from originset.cli.serve import uploaded_explanation
from originset.cli.serve.uploaded_explanation import explain_files
from originset.data.errors import UsageError

SCRIPT = "<script>document.title='owned'</script>"


def hostile_har(path: Path) -> bytes:
    har = json.loads(write_har(path, [("https://www.site.test/", "104.20.8.1", "1")]).read_text())
    har["log"]["pages"][0]["title"] = SCRIPT
    har["log"]["creator"] = {"name": SCRIPT, "version": "\u202e"}
    har["log"]["entries"] += [
        {**har["log"]["entries"][0], "request": {"method": SCRIPT, "url": f"https://{SCRIPT}.test/"}}
    ]
    return json.dumps(har).encode()


@pytest.mark.promise("serve-runs-nothing")
def test_hostile_files_beside_a_good_one(pages: Served, tmp_path: Path) -> None:
    good = write_har(tmp_path / "good.har", [("https://www.good.test/", "104.20.8.1", "1")]).read_bytes()
    files = [("good.har", good), (f"{SCRIPT}.har", hostile_har(tmp_path / "x.har")), ("no.har", b"{")]
    answer = pages.upload(*files)
    assert answer.status == 200
    assert "https://www.good.test/" in answer.text
    assert "<script>document" not in answer.text
    assert "\u202e" not in answer.text
    assert re.search(r"<li><bdi>[^<]*no\.har</bdi>: <bdi>[^<]+</bdi></li>", answer.text), "why it is refused"
    assert "sandbox allow-scripts" in answer.headers["content-security-policy"]
    assert list(pages.folder.iterdir()) == []


def test_none_that_can_be_read(pages: Served) -> None:
    answer = pages.upload(("\u202e.har", b'{"log": {}'))
    assert answer.status == 400
    assert ".har: " in answer.text
    assert str(pages.folder) not in answer.text
    assert list(pages.folder.iterdir()) == []


def test_a_process_that_ends_costs_its_upload(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(uploaded_explanation, "_explain", explained)
    assert explain_files([tmp_path / "page.har"], tmp_path) == "the page"
    monkeypatch.setattr(uploaded_explanation, "_explain", process_ended)
    with pytest.raises(UsageError, match="perhaps as memory ran out"):
        explain_files([tmp_path / "page.har"], tmp_path)


@pytest.mark.promise("serve-has-deadlines")
def test_an_explanation_without_an_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It ends although it lets no other thread of its process run."""
    monkeypatch.setattr(uploaded_explanation, "_explain", interpreter_held)
    monkeypatch.setattr(uploaded_explanation, "_MOST_SECONDS", 0.5)
    with pytest.raises(UsageError, match="took more than 0 s"):
        explain_files([tmp_path / "page.har"], tmp_path)
