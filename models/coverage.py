"""Which host names a certificate covers, by RFC 9525: whole tables at once, with joins instead of a loop."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from originset.models.certificate_names import Marks, id_keys, name_keys, names_among, slices, with_names
from originset.models.network import is_address
from originset.models.texts import distinct, equal, runs


def covered(tables: Mapping[str, pl.LazyFrame], pairs: pl.DataFrame, *, wildcards: bool = True) -> pl.Series:
    """Of each row of ``pairs`` (``certificate_id``, ``host``) whether the certificate covers the host.

    NULL where the certificate or its names are not known. RFC 9525 section 6.3: a name covers the host that equals it,
    or, if its left-most label is ``*``, a host with any one label in that place. No partial wildcards, no common name
    (section 6.1.2), no wildcard for an address. Without ``wildcards`` a certificate's wildcard names cover nothing.

    All names are read, once, however many pairs there are. ``host`` may be a category, which costs less; so does
    having pairs of one certificate beside each other.
    """
    ids, of_id = runs(pairs["certificate_id"])
    hosts, of_host = distinct(pairs["host"])
    known, keys = with_names(tables, ids)[of_id], id_keys(ids)
    exact = _exact(pl.LazyFrame({"host": hosts, "number": np.arange(hosts.len())}))
    wanted = []
    for rows in pl.collect_all([exact, _by_wildcard(exact)] if wildcards else [exact]):
        names, place = rows["name"], np.full(hosts.len() + 1, -1)
        place[rows["number"].to_numpy()] = np.arange(rows.height)
        row = np.flatnonzero(known & (place[of_host] >= 0))
        name = place[of_host[row]]
        wanted.append((names, row, name, keys[of_id[row]] ^ name_keys(names)[name]))
    found = names_among(tables, Marks(*(key for *_, key in wanted)))
    there = Marks(found["key"].to_numpy())
    answer = np.zeros(pairs.height, np.bool_)
    for names, row, name, key in wanted:
        some = np.flatnonzero(there.may_have(key))
        chosen, place = equal(key[some], found["key"].to_numpy())
        some = some[chosen]
        same = (ids.gather(of_id[row[some]]) == found["certificate_id"].gather(place)) & (
            names.gather(name[some]) == found["name"].gather(place)
        )
        answer[row[some[same.to_numpy()]]] = True
    return pl.Series("covered", answer).set(pl.Series(~known), None)


def covering_certificates(
    tables: Mapping[str, pl.LazyFrame], hosts: pl.LazyFrame, certificates: pl.Categorical, by: str = "host"
) -> pl.DataFrame:
    """Every certificate of the study (``certificate_id``, as ``certificates``) that covers a ``host`` of ``hosts``.

    Each with each host once, the host as its ``by``: a column of ``hosts`` that tells them apart.
    """
    exact = _exact(hosts)
    known = pl.concat([exact, _by_wildcard(exact)]).select(by, "name").collect()
    keys = name_keys(known["name"])
    wanted, found = Marks(keys), [known.select(by, pl.lit(None, certificates).alias("certificate_id")).clear()]
    for each in slices(tables):
        row = np.flatnonzero(wanted.may_have(each.name_keys))
        place = np.flatnonzero(Marks(each.name_keys[row]).may_have(keys))
        one, other = equal(each.name_keys[row], keys[place])
        row, place = row[one], place[other]
        same = (each.names.gather(row) == known["name"].gather(place)).to_numpy()
        of_id = each.of_id[row[same]]
        # Most certificates cover none of the hosts, and shall be no category.
        used = np.zeros(each.ids.len(), np.bool_)
        used[of_id] = True
        ids = each.ids.filter(pl.Series(used)).cast(certificates)
        found.append(
            pl.DataFrame(
                {by: known[by].gather(place[same]), "certificate_id": ids.gather((np.cumsum(used) - 1)[of_id])}
            )
        )
    return pl.concat(found).unique()


def _exact(hosts: pl.LazyFrame) -> pl.LazyFrame:
    """Rows with a ``host`` with the ``name`` that equals it."""
    # An absolute name, with its final dot, names the same host; a host with a star in it is nobody's name.
    return hosts.filter(~pl.col("host").str.contains("*", literal=True)).with_columns(
        pl.col("host").str.strip_suffix(".").alias("name")
    )


def _by_wildcard(exact: pl.LazyFrame) -> pl.LazyFrame:
    """Rows of :func:`_exact` with the ``name`` of a wildcard that covers the host, where there is one."""
    parent = pl.col("name").str.splitn(".", 2).struct.field("field_1")
    return (
        exact.filter(~is_address(pl.col("name")), ~pl.col("name").str.starts_with("."))
        .with_columns(("*." + parent).alias("name"))
        .drop_nulls("name")
    )
