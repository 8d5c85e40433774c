"""The flattened IP-to-AS table in the user's cache: read instead of made, and made again where it is not whole."""

from __future__ import annotations

import os
import time
from pathlib import Path

import polars as pl
import pytest

from originset.data.reference.flat_table import FlatTable, cached_flat_table
from originset.data.reference.ranges import Prefixes

NOW = time.time()
ROWS = {
    "0.0.0.0/1": [5],
    "10.0.0.0/8": [1, 4_294_967_295],
    "10.1.0.0/16": [2],
    "255.255.255.255/32": [9],
    "2001:db8::/32": [3],
    "2001:db8:0:1::/64": [4],
    "ffff::/16": [6],
}
ADDRESSES = pl.Series([
    "0.0.0.1", "10.0.0.1", "10.1.255.255", "128.0.0.0", "255.255.255.255", "2001:db8::1", "2001:db8:0:1::1",
    "2001:db9::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::",
])  # fmt: skip
EXPECTED = [[5], [1, 4_294_967_295], [2], None, [9], [3], [4], None, [6], None]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "originset" / "ip-to-as"


def flatten() -> FlatTable:
    networks, lengths = zip(*(prefix.split("/") for prefix in ROWS), strict=True)
    prefixes = Prefixes(pl.Series(networks), [int(length) for length in lengths])
    return FlatTable(prefixes, pl.Series(list(ROWS.values()), dtype=pl.List(pl.Int64)))


def never() -> FlatTable:
    pytest.fail("it was flattened again")


def found(table: FlatTable) -> list[list[int] | None]:
    positions = table.prefixes.find(ADDRESSES).tolist()
    return [table.asns[position].to_list() if position >= 0 else None for position in positions]


def test_what_is_read_answers_as_what_was_flattened(cache: Path) -> None:
    assert found(cached_flat_table("aa", flatten)) == EXPECTED
    again = cached_flat_table("aa", never)
    assert found(again) == EXPECTED
    assert again.asns.dtype == pl.List(pl.Int64)


def test_another_hash_is_another_table(cache: Path) -> None:
    cached_flat_table("aa", flatten)
    with pytest.raises(pytest.fail.Exception):
        cached_flat_table("bb", never)


@pytest.mark.parametrize("harm", [lambda content: content[:-1], lambda content: content[:-1] + b"?", lambda _: b""])
def test_a_file_that_is_not_whole_is_made_again(cache: Path, harm) -> None:
    cached_flat_table("aa", flatten)
    (file,) = cache.iterdir()
    file.write_bytes(harm(file.read_bytes()))
    with pytest.raises(pytest.fail.Exception):
        cached_flat_table("aa", never)
    assert found(cached_flat_table("aa", flatten)) == EXPECTED
    assert found(cached_flat_table("aa", never)) == EXPECTED


def test_without_a_cache_it_is_flattened(cache: Path) -> None:
    cache.parent.write_text("a file stands where the folder is to be")
    assert found(cached_flat_table("aa", flatten)) == EXPECTED


def test_one_family_alone(cache: Path) -> None:
    def v4_table() -> FlatTable:
        return FlatTable(Prefixes(pl.Series(["10.0.0.0"]), [8]), pl.Series([[7]], dtype=pl.List(pl.Int64)))

    cached_flat_table("v4", v4_table)
    table = cached_flat_table("v4", never)
    assert table.prefixes.find(pl.Series(["10.2.3.4", "11.0.0.0", "::1"])).tolist() == [0, -1, -1]


def test_what_nobody_used_for_long_is_removed(cache: Path) -> None:
    for name in ("aa", "bb"):
        cached_flat_table(name, flatten)
    left = [cache / name for name in ("cc.0", ".dd.1.77.tmp")]
    others = [cache / name for name in ("notes.txt", "README")]
    for path in (*left, *others):
        path.touch()
    outside = cache.parent / "outside"
    outside.touch()
    (cache / "ee.1").symlink_to(outside)
    for path in [*cache.iterdir(), outside]:
        os.utime(path, (0, 0), follow_symlinks=False)
    cached_flat_table("aa", never)
    cached_flat_table("ff", flatten)
    assert sorted(path.name for path in cache.iterdir()) == ["README", "aa.1", "ee.1", "ff.1", "notes.txt"]
    assert outside.exists()


def test_of_many_those_used_last_are_kept(cache: Path) -> None:
    for number in range(40):
        cached_flat_table(f"{number:02x}", flatten)
        os.utime(cache / f"{number:02x}.1", (NOW - 100 + number, NOW - 100 + number))
    assert sorted(path.name for path in cache.iterdir()) == [f"{number:02x}.1" for number in range(8, 40)]
