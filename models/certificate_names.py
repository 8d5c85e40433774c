"""The names of all certificates, read once and some at a time: those that are asked for, and how many each has.

Rows are told apart by seeded hashes first, which are numbers, and then by their texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from originset.models.texts import Keys, keys_of, places_in, runs
from originset.models.uses import Ints

_Flags = np.ndarray[Any, np.dtype[np.bool_]]

# Names looked at together.
_NAMES = 500_000

# Names kept until those are left out that several shards have.
_KEPT = 1_000_000

# Certificates that several shards have, of which the names are counted together.
_TOGETHER = 100_000

# Marks for each key, so that few others are taken for one of them; and as a power of two how many there are at most.
_SPARSE, _MOST = 8, 27


class Marks:
    """Keys of which to ask whether another may be one of them; that one of them may be is always said."""

    def __init__(self, *keys: Keys) -> None:
        size = sum(some.size for some in keys)
        bits = min(max((_SPARSE * size).bit_length(), 1), _MOST)
        self._shift = np.uint64(64 - bits)
        self._marks = np.zeros(2**bits, np.bool_)
        for some in keys:
            self._marks[some >> self._shift] = True

    def may_have(self, keys: Keys) -> _Flags:
        """Of each key whether it may be among them."""
        marked: _Flags = self._marks[keys >> self._shift]
        return marked


@dataclass(frozen=True, slots=True)
class Names:
    """Some rows of ``certificate_names``: their ``names`` and ``name_keys``.

    ``of_id``: of each row the place of its certificate in ``ids``, where those of successive rows are once.
    """

    ids: pl.Series
    id_keys: Keys
    of_id: Ints
    names: pl.Series
    name_keys: Keys

    def keys(self) -> Keys:
        """Of each row that of its certificate and name."""
        return self.id_keys[self.of_id] ^ self.name_keys


def id_keys(ids: pl.Series) -> Keys:
    """A number for each certificate, which with that of a name is one of both: ``id_key ^ name_key``."""
    return keys_of(ids)


def name_keys(names: pl.Series) -> Keys:
    """A number for each name; see :func:`id_keys`."""
    return keys_of(names, 1)


def slices(tables: Mapping[str, pl.LazyFrame]) -> Iterator[Names]:
    """All rows of ``certificate_names``: they are too many to have in memory, the more so with their texts."""
    names = tables["certificate_names"].select("certificate_id", "name")
    for first in range(0, names.select(pl.len()).collect().item(), _NAMES):
        some = names.slice(first, _NAMES).collect()
        ids, of_id = runs(some["certificate_id"])
        yield Names(ids, id_keys(ids), of_id, some["name"], name_keys(some["name"]))


def with_names(tables: Mapping[str, pl.LazyFrame], ids: pl.Series) -> _Flags:
    """Of each certificate whether its names are known."""
    asked = ids.to_frame("certificate_id").with_row_index("row").lazy()
    known = tables["certificates"].filter(pl.col("san_count").is_not_null())
    rows = asked.join(known, on="certificate_id", how="semi").select("row").collect(engine="streaming")
    answer = np.zeros(ids.len(), np.bool_)
    answer[rows["row"].to_numpy()] = True
    return answer


def names_among(tables: Mapping[str, pl.LazyFrame], wanted: Marks) -> pl.DataFrame:
    """``certificate_id`` and ``name``, once each, with their ``key``: all that ``wanted`` has, and some others."""
    found = pl.DataFrame(schema={"key": pl.UInt64, "certificate_id": pl.String, "name": pl.String})
    some, height, bound = [found], 0, _KEPT
    for each in slices(tables):
        keys = each.keys()
        row = np.flatnonzero(wanted.may_have(keys))
        texts = {"certificate_id": each.ids.gather(each.of_id[row]), "name": each.names.gather(row)}
        some.append(pl.DataFrame({"key": keys[row]} | {name: _apart(text) for name, text in texts.items()}))
        height += row.size
        if height > bound:
            some = [_once(pl.concat(some))]
            height = some[0].height
            bound = max(_KEPT, 2 * height)
    return _once(pl.concat(some))


def how_many(tables: Mapping[str, pl.LazyFrame], ids: pl.Series) -> Ints:
    """Of each certificate (all different) how many names it has."""
    asked = Marks(id_keys(ids))
    found, lengths, keys = [ids.clear()], [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
    for each in slices(tables):
        here = asked.may_have(each.id_keys)
        found.append(_apart(each.ids.filter(pl.Series(here))))
        lengths.append(np.bincount(each.of_id, minlength=here.size)[here])
        keys.append(each.keys()[here[each.of_id]])
    place, length = places_in(ids, pl.concat(found)), np.concatenate(lengths)
    of_name = np.repeat(place, length)
    key, of_name = pl.Series(np.concatenate(keys)[of_name >= 0]), of_name[of_name >= 0]
    counts = np.bincount(of_name, minlength=ids.len())
    if key.n_unique() < key.len():
        # As where several shards have one certificate: its names are counted by their texts.
        repeated = np.zeros(ids.len(), np.bool_)
        repeated[of_name[key.is_duplicated().to_numpy()]] = True
        for row in np.array_split(np.flatnonzero(repeated), repeated.sum() // _TOGETHER + 1):
            counts[row] = _distinct_names(tables, ids.gather(row))
    return counts


def _distinct_names(tables: Mapping[str, pl.LazyFrame], ids: pl.Series) -> Ints:
    some = ids.to_frame("certificate_id").lazy()
    counts = (
        tables["certificate_names"]
        .select("certificate_id", "name")
        .join(some, on="certificate_id", how="semi")
        .unique()
        .group_by("certificate_id")
        .agg(pl.len().cast(pl.Int64))
        .collect(engine="streaming")
    )
    of_each = some.collect().join(counts, on="certificate_id", how="left", maintain_order="left")
    return of_each["len"].fill_null(0).to_numpy()


def _apart(texts: pl.Series) -> pl.Series:
    """``texts`` as a copy: chosen ones would keep the memory of all that they were among."""
    return texts + ""


def _once(rows: pl.DataFrame) -> pl.DataFrame:
    repeated = rows["key"].is_duplicated()
    return pl.concat([rows.filter(~repeated), rows.filter(repeated).unique()]) if repeated.any() else rows
