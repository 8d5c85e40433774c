"""HARs that were cut off: what is kept of them, against a plain reader of the same JSON."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping

import mutated_hars

from doors import Bound, har_text
from originset.analysis.har.decoding.truncated import whole_entries
from originset.analysis.har.tables import HarBatch, decode_whole_entries

FOLDERS = ("analysis/har",)
LONGEST = 1 << 14
MEMORY = Bound(4 << 20, 2_000)
LINES = Bound(20_000, 100)


def read(data: bytes, *, whole: bool) -> None:
    """Raises InputError where nothing is whole."""
    found = whole_entries(data)
    if found is not None and (expected := naive_whole_entries(data)) is not None:
        assert json.loads(found[0])["log"]["entries"] == expected
        assert data.startswith(found[0][: found[1]])
    log, lost = decode_whole_entries(data, "a.har")
    assert lost is None or lost.byte_offset is not None
    assert lost is None or log.entries
    if whole:
        batch = HarBatch()
        batch.add(data, "a.har", "0" * 64)
        har_text.require_schema(batch.tables())


def naive_whole_entries(data: bytes) -> list[object] | None:
    """The objects that stand whole in ``log.entries``; None where a text is not of this one shape.

    The list is looked for where a recorder writes it: the first ``"entries": [`` of a text that has just one.
    """
    text = data.decode("utf-8", errors="strict") if data.isascii() else ""
    if text.count('"entries"') != 1 or not text.startswith('{"log": {"entries": ['):
        return None
    decoder, place, entries = json.JSONDecoder(), len('{"log": {"entries": ['), []
    while True:
        try:
            value, place = decoder.raw_decode(text, place)
        except ValueError:
            break
        except RecursionError:
            return None
        entries.append(value)
        if not text[place:].startswith(", "):
            break
        place += 2
    # A text that goes on otherwise than with a cut is another reader's.
    rest = text[place:]
    return entries if all(isinstance(one, dict) for one in entries) and rest in {"", ",", ", "} else None


def seeds() -> Iterator[bytes]:
    """Recordings here, cut in their entries; and such as the plain reader takes."""
    for text in mutated_hars.bases(har_text.HARS)[::3]:
        yield text[: len(text) * 2 // 3]
        entries = json.dumps({"log": {"entries": json.loads(text)["log"]["entries"][:2]}}).encode()
        yield entries[: len(entries) - 3]
        yield entries[: len(entries) - 4]


def mutate(source: random.Random, data: bytes) -> bytes:
    """Bytes flipped, cut out and put elsewhere."""
    if source.random() < 0.3:
        return data[: source.randrange(len(data) + 1)]
    return mutated_hars.mutate(source, [data])


def bombs(size: int) -> Mapping[str, bytes]:
    """Those of whole HARs, without their last byte."""
    cut = {name: text[:-1] for name, text in har_text.bombs(size).items() if name != "gzip"}
    head = b'{"log":{"entries":[{},'
    return cut | {
        "open-string": head + b'"' + b"a" * size,
        "escapes": head + b'"' + b"\\" * size,
        "quotes": head + b'"' * size,
        "colons": head + b"{" + b":" * size,
    }
