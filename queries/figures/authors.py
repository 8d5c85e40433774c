"""The paper authors' data: the CSV files of their release, read from a folder of the user's; not included here.

Release: github.com/cloudflare/connection-coalescing-imc22, folder ``data``. Where a file of theirs is absent, a curve
that was read back from their published figure may stand in for it (``recovered-*.csv``).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from originset.data.errors import InputError
from originset.queries.figures.distribution import Distribution

Curves = dict[str, Distribution]

# The columns of the release, by their names in the recovered files.
_FIGURE_3 = {
    "measured_dns": "dns",
    "measured_tls": "tls",
    "ideal_ip": "ip_dns_tls",
    "ideal_origin": "origin_dns_tls",
}
_FIGURE_9A = {
    "measured": "page_load_times",
    "ideal_ip": "ip_page_load_times",
    "ideal_origin": "as_page_load_times",
    "cdn_only_origin": "cf_only_page_load_times",
}


def figure_1(folder: Path) -> Curves | None:
    """Pages by number of ASes. The file has only shares; the smallest is one page, which gives the number of pages."""
    rows = _read(folder, "figure-1-dataframe-asn-share.csv", ("ASes", "Count"))
    if rows is None:
        return None
    shares = rows["Count"].to_numpy()
    pages = np.rint(100.0 / shares.min())
    known_rows = rows.drop_nulls().sort("ASes")
    counts = np.rint(known_rows["Count"].to_numpy() / 100.0 * pages)
    return {"ASes": Distribution.counted(known_rows["ASes"].to_numpy(), counts)}


def figure_3(folder: Path) -> Curves | None:
    """Lookups and connections of pages."""
    rows = _read(folder, "figure-3-dataframe.csv", tuple(_FIGURE_3.values()))
    if rows is not None:
        return curves(rows, tuple(_FIGURE_3.values()))
    rows = _read(folder, "recovered-figure-3-curves.csv", ("value", "approx_cum_count_of_315797"), "curve")
    if rows is None:
        return None
    distributions = {}
    for curve, column in _FIGURE_3.items():
        points = rows.filter(pl.col("curve") == curve).sort("value")
        counts = points["approx_cum_count_of_315797"].diff(null_behavior="ignore")
        counts[0] = points["approx_cum_count_of_315797"][0]
        distributions[column] = Distribution.counted(points["value"].to_numpy(), counts.to_numpy())
    return distributions


def figure_5(folder: Path) -> pl.DataFrame | None:
    """Names in certificates, one row a site; figure 4 has the same rows."""
    columns = ("original_san_list", "updated_san_list", "mapped_san_additions")
    rows = _read(folder, "figure-5-dataframe.csv", columns)
    return None if rows is None else rows.cast(pl.Int64)


def figure_7a(folder: Path) -> pl.DataFrame | None:
    """New connections of visits with IP coalescing."""
    return _read(folder, "live_ip_coalescing_experiment_control.csv", ("CDNJS-Not-Coalesced",), "Type")


def figure_7b(folder: Path) -> pl.DataFrame | None:
    """New connections of visits with ORIGIN frames."""
    return _read(folder, "live_origin_coalescing_experiment_control.csv", ("CDNJS-Not-Coalesced",), "Type")


def figure_8(folder: Path) -> pl.DataFrame | None:
    """Connections a day: Time, Control, Experiment."""
    groups = []
    for group in ("Control", "Experiment"):
        name = f"origin_frame_{group.lower()}_timeline.csv"
        rows = _read(folder, name, ("Count",), "Time")
        if rows is None:
            return None
        try:
            days = rows["Time"].str.to_datetime("%Y-%m-%d")
        except pl.exceptions.PolarsError:
            raise _unusable(folder / name, "a value of Time is not a day") from None
        groups.append(rows.select(days.alias("Time"), pl.col("Count").alias(group)))
    return groups[0].join(groups[1], on="Time").sort("Time")


def figure_9a(folder: Path) -> Curves | None:
    """Page load times, measured and modelled; -1 stands for pages that were not modelled."""
    rows = _read(folder, "figure-9a-dataframe.csv", tuple(_FIGURE_9A.values()))
    if rows is not None:
        return curves(rows.with_columns(pl.when(pl.all() != -1).then(pl.all())), tuple(_FIGURE_9A.values()))
    rows = _read(folder, "recovered-figure-9a-curves.csv", ("plt_ms", "cdf"), "curve")
    if rows is None:
        return None
    distributions = {}
    for curve, column in _FIGURE_9A.items():
        points = rows.filter(pl.col("curve") == curve)
        distributions[column] = Distribution(points["plt_ms"].to_numpy(), points["cdf"].to_numpy(), None)
    return distributions


def figure_9b(folder: Path) -> pl.DataFrame | None:
    """Page load times of visits to both groups."""
    return _read(folder, "figure-9b-dataframe.csv", ("Time",), "Mode")


def curves(rows: pl.DataFrame, columns: tuple[str, ...]) -> Curves:
    """A distribution of each column that holds a number."""
    known_values = {column: rows[column].drop_nulls().drop_nans() for column in columns}
    return {
        column: Distribution.of(numbers.to_numpy())
        for column, numbers in known_values.items()
        if not numbers.is_empty()
    }


def _read(folder: Path, name: str, numbers: tuple[str, ...], text: str | None = None) -> pl.DataFrame | None:
    """The named columns of a file, numbers as floats; None if there is no such file.

    Raises:
        InputError: it cannot be read, or lacks a column.
    """
    path = folder / name
    if not path.is_file():
        return None
    types: dict[str, pl.DataType] = {column: pl.Float64() for column in numbers}
    if text is not None:
        types = {text: pl.String(), **types}
    try:
        rows = pl.read_csv(path, columns=list(types), schema_overrides=types)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _unusable(path, " ".join(str(error).split())[:200]) from error
    if rows.is_empty():
        raise _unusable(path, "it has no rows")
    return rows.select(list(types))


def _unusable(path: Path, detail: str) -> InputError:
    return InputError(str(path), "not-the-authors-file", f"it cannot be read as the authors' file: {detail}")
