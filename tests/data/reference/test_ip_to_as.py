"""Tables of origin ASes: their formats, several origins, refusals, and what is built in."""

import bz2
import gzip
import hashlib
import json
import struct
import sys
from importlib import resources
from pathlib import Path

import polars as pl
import pyasn
import pytest

from originset.data.errors import InputError, MissingDependency, UsageError
from originset.data.reference import ip_to_as, table_files
from originset.data.reference.ip_to_as import IpToAs
from originset.data.reference.snapshot import built_in_reference

pytestmark = pytest.mark.slow

ASKED = pl.Series(["10.1.2.3", "10.2.0.1", "2001:db8::9", "8.8.8.8", "192.0.2.9"])
PYASN = "; made for a test\n# and this\n10.0.0.0/8\t3333\n10.1.0.0/16\t1101\n2001:db8::/32\t2200\n192.0.2.0/24\t7\n"
PFX2AS = "10.0.0.0\t8\t3333\n10.1.0.0\t16\t1109_1101\n2001:db8::\t32\t2200,1110_9\n192.0.2.0\t24\t7\n"


def attribute(kind: int, body: bytes) -> bytes:
    return bytes([0x40, kind, len(body)]) + body


def mrt_record(kind: int, subtype: int, body: bytes) -> bytes:
    return struct.pack(">IHHI", 0, kind, subtype, len(body)) + body


def mrt_dump() -> bytes:
    """A TABLE_DUMP_V2 (RFC 6396 section 4.3) of two peers: a path that ends in one AS, one that ends in an AS set."""

    def path(*segments: tuple[int, tuple[int, ...]]) -> bytes:
        body = b"".join(
            bytes([kind, len(ases)]) + b"".join(struct.pack(">I", asn) for asn in ases) for kind, ases in segments
        )
        return attribute(1, b"\x00") + attribute(2, body)

    def rib(sequence: int, subtype: int, prefix: bytes, attributes: bytes) -> bytes:
        entry = struct.pack(">HIH", 0, 0, len(attributes)) + attributes
        return mrt_record(13, subtype, struct.pack(">I", sequence) + prefix + struct.pack(">H", 1) + entry)

    peer = b"\x02" + bytes(4) + bytes(4) + struct.pack(">I", 100)
    index = bytes(4) + struct.pack(">H", 0) + struct.pack(">H", 1) + peer
    return b"".join(
        [
            mrt_record(13, 1, index),
            rib(0, 2, b"\x08\x0a", path((2, (100, 3333)))),
            rib(1, 2, b"\x10\x0a\x01", path((2, (100,)), (1, (1109, 1101)))),
            rib(2, 4, b"\x20\x20\x01\x0d\xb8", path((2, (100, 2200)))),
            rib(3, 2, b"\x18\xc0\x00\x02", path((2, (7,)))),
        ]
    )


FORMATS = {
    "pyasn": (PYASN.encode(), [[1101], [3333], [2200], None, [7]]),
    "pfx2as": (PFX2AS.encode(), [[1101, 1109], [3333], [9, 1110, 2200], None, [7]]),
    "MRT": (mrt_dump(), [[1101, 1109], [3333], [2200], None, [7]]),
}


@pytest.mark.parametrize("pack", [lambda content: content, gzip.compress, bz2.compress], ids=["plain", "gzip", "bzip2"])
@pytest.mark.parametrize("name", FORMATS)
def test_formats(tmp_path: Path, name, pack):
    content, expected = FORMATS[name]
    path = tmp_path / "table"
    path.write_bytes(pack(content))
    table = IpToAs.load(path)
    found = table.origins(ASKED)
    assert found["asns"].to_list() == expected
    assert found["asn"].to_list() == [None if asns is None else min(asns) for asns in expected]
    assert table.prefixes(ASKED).to_list() == ["10.1.0.0/16", "10.0.0.0/8", "2001:db8::/32", None, "192.0.2.0/24"]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert table.described() == {"source": "table", "format": name, "sha256": digest}


def test_an_mrt_dump_without_pyasn_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pyasn", None)
    (tmp_path / "table").write_bytes(mrt_dump())
    with pytest.raises(MissingDependency, match=r"pip install 'originset\[mrt\]'"):
        IpToAs.load(tmp_path / "table")


def test_a_sample_as_pyasn_answers(shared):
    path = shared / "data" / "asn" / "ipasn_sample.dat"
    oracle = pyasn.pyasn(str(path))
    asked = [f"{first}.{second}.1.1" for first in range(1, 224) for second in (0, 16, 217)]
    found = IpToAs.load(path).origins(pl.Series(asked))["asn"].to_list()
    assert found == [oracle.lookup(address)[0] for address in asked]
    assert sum(asn is not None for asn in found) > 5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "; nothing but this\n",
        "hello\tworld\n",
        "10.0.0.0/8 3333\n",
        "10.0.0.0/33\t3333\n",
        "10.0.0.0/0\t3333\n",
        "10.0.0.0/8\t0\n",
        "10.0.0.0/8\t4294967296\n",
        "10.0.0.0/8\tAS3333\n",
        "10.0.0.0/8\t\n",
        "10.0.0/8\t3333\n",
        "2001:db8::\t129\t3333\n",
        "10.0.0.0\t8\t1_x\n",
        "10.0.0.0\t8\t1__2\n",
        "10.0.0.0/8\t3333\n11.0.0.0\t8\t1\n",
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, text):
    (tmp_path / "x.dat").write_text(text)
    with pytest.raises(InputError) as refusal:
        IpToAs.load(tmp_path / "x.dat")
    assert refusal.value.reason == "not-ip-to-as"


@pytest.mark.parametrize(
    "content", [b"\x1f\x8bbroken", b"BZhbroken", mrt_dump()[:-5], b"\x00\x00\x00\x00\x00\x0d" + bytes(20)]
)
def test_damaged_files_are_refused(tmp_path: Path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(InputError):
        IpToAs.load(tmp_path / "x")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_what_is_larger_than_any_table_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack):
    for module in (ip_to_as, table_files):
        monkeypatch.setattr(module, "MAX_BYTES", 1 << 20)
    (tmp_path / "table").write_bytes(pack(b";" * (1 << 20) + b"\n"))
    with pytest.raises(InputError, match="has more than 1 MiB unpacked"):
        IpToAs.load(tmp_path / "table")


def test_more_origins_than_any_table_has_are_refused(tmp_path: Path):
    """Half a megabyte, packed, that took all memory."""
    with gzip.open(tmp_path / "table", "wb", 1) as file:
        file.write(b"1.0.0.0\t24\t" + b"1_" * (9 << 20) + b"1\n")
    with pytest.raises(InputError, match="more origins than those of any table"):
        IpToAs.load(tmp_path / "table")


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(InputError) as refusal:
        IpToAs.load(tmp_path / "nowhere.dat")
    assert refusal.value.reason == "unreadable"


def test_the_built_in_table_is_the_one_described():
    reference = built_in_reference()
    found = reference.ip_to_as.origins(pl.Series(["1.1.1.1", "2606:4700::1111", "10.0.0.1"]))
    assert found["asn"].to_list() == [13335, 13335, None]
    facts = reference.ip_to_as.described()
    assert facts == reference.facts["ip_to_as"]
    assert facts["date"] == "2026-06-17"
    assert "CC BY 4.0" in facts["source"]


def test_prefixes_made_from_ranges_are_not_given_out():
    with pytest.raises(UsageError, match="not announcements"):
        built_in_reference().ip_to_as.prefixes(pl.Series(["1.1.1.1"]))


def test_built_in_files_are_as_their_description_says():
    folder = resources.files("originset.data.reference")
    index = json.loads(folder.joinpath("reference.json").read_bytes())
    assert set(index) == {"ip_to_as", "as_names"}
    for facts in index.values():
        assert hashlib.sha256(folder.joinpath(facts["file"]).read_bytes()).hexdigest() == facts["sha256"]
    attribution = folder.joinpath("ATTRIBUTION.md").read_text()
    assert all(name in attribution for name in ("RouteViews", "NRO", "DB-IP", "Creative Commons Attribution 4.0"))
