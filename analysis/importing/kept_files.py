"""Copies of imported files below the study: ``files/ab/<SHA-256 of the source>.har.zst``.

Named by content, as a source's path is a stranger's text. Unless secrets are kept, a copy is the HAR as far as
import reads it, with its addresses redacted: what could hold a secret is not in it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import zstandard

from originset.analysis.har.decoding.structs import Initiator, Log
from originset.analysis.har.initiators import initiator_url
from originset.analysis.har.tables import decode_whole_entries
from originset.data.files.atomic_files import replacing
from originset.data.sanitising.url_redaction import redact_url
from originset.data.studies.study import Study


def kept_path(study: Study, sha256: str) -> Path:
    """The path of the copy of a file."""
    return study.root / "files" / sha256[:2] / f"{sha256}.har.zst"


def keep_file(study: Study, text: bytes, source: str, sha256: str, *, keep_secrets: bool) -> None:
    """Keep a copy of a HAR, as it is if secrets are kept."""
    if not keep_secrets:
        text = msgspec.json.encode({"log": _redacted_log(decode_whole_entries(text, source)[0])})
    with replacing(kept_path(study, sha256), private=True, below=study.root) as temporary:
        temporary.write_bytes(zstandard.compress(text, 3))


def _redacted_log(log: Log) -> Log:
    log.extension = None  # what a capture has beside HAR
    for entry in log.entries:
        entry.page = _url(entry.page)
        entry.request.url = _url(entry.request.url)
        entry.response.redirect_url = _url(entry.response.redirect_url)
        if entry.frame_url is not None:  # else it may be no field of this recorder's entries
            entry.frame_url = _url(entry.frame_url)
        if isinstance(entry.initiator, str):
            entry.initiator = _url(entry.initiator)
        elif entry.initiator is not None:
            entry.initiator = Initiator(url=_url(initiator_url(entry.initiator)))
        # Free texts of errors quote addresses; content types carry parameters.
        entry.error = _code(entry.error)
        entry.response.error = _code(entry.response.error)
        entry.response.failure = _code(entry.response.failure)
        if entry.response.content is not None and entry.response.content.mime_type:
            entry.response.content.mime_type = entry.response.content.mime_type.partition(";")[0]
    for page in log.pages or ():
        page.id, page.url, page.address, page.title = map(_url, (page.id, page.url, page.address, _title(page.title)))
    for program in (log.creator, log.browser):
        if program is not None:
            program.comment = None
    return log


def _url(text: str | None) -> str | None:
    return None if text is None else redact_url(text)


def _title(text: str | None) -> str | None:
    """A title if it is a URL; other titles can have facts on the visitor."""
    return text if text and text.startswith(("http://", "https://")) else None


def _code(text: str | None) -> str | None:
    return text if text is None or text.replace(":", "").replace("_", "").isalnum() else "other"
