"""What Python programs use: a study's tables and queries, a HAR explained, a site's plan.

Rows are polars frames. NULL means not known, 0 means zero. Errors are the classes of ``originset.data.errors``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Self

import polars as pl

from originset.cli.modelling.scratch_study import study_of
from originset.data.schema.study_tables import TABLES
from originset.data.studies.database import open_database
from originset.data.studies.shards import identifier
from originset.data.studies.study import Study
from originset.models.plans.exclusions import Exclusions
from originset.models.plans.origin_plan import Plan
from originset.models.plans.site_plan import site_plan
from originset.queries.catalogue import rows_of, run
from originset.queries.report.report_advice import Advice, advice


class StudyTables(Mapping[str, pl.DataFrame]):
    """The tables of a study by name, each read when it is asked for.

    >>> "page_counts" in originset.open_study("study").tables
    True
    """

    def __init__(self, study: StudyReader) -> None:
        self._study = study

    def __contains__(self, name: object) -> bool:
        """Whether there is such a table; it is not read."""
        return name in TABLES

    def __getitem__(self, name: str) -> pl.DataFrame:
        """All rows of a table; docs/schema.md has its columns and their units.

        Raises:
            KeyError: there is no such table.
        """
        if name not in TABLES:
            raise KeyError(name)
        return self._study.sql(f"FROM {identifier(name)}")

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(TABLES)

    def __len__(self) -> int:
        """How many there are."""
        return len(TABLES)


class StudyReader:
    """A study's database, open for reading until :meth:`close` or the end of a ``with`` block.

    A study that is analysed again meanwhile is read as it was: open it again to see what is new.

    >>> with originset.open_study("study") as study:
    ...     study.sql("SELECT count(*) AS visits FROM visits")["visits"].item() > 0
    True
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        with ExitStack() as stack:
            self._connection = stack.enter_context(open_database(Study(Path(path))))
            self._open = stack.pop_all()

    @property
    def tables(self) -> StudyTables:
        """The tables, as a mapping from name to rows."""
        return StudyTables(self)

    def query(self, name: str, /, **parameters: float | str) -> pl.DataFrame:
        """The rows of a named query, over landing pages where it is about selected visits.

        ``originset query`` lists the queries with their parameters.

        >>> originset.open_study("study").query("hosts_top_summary", top=2).columns[:3]
        ['vantage', 'browser', 'host']

        Raises:
            UsageError: there is no such query or parameter, or a value is of another type.
        """
        return rows_of(self._connection, name, {key: str(value) for key, value in parameters.items()})

    def sql(self, statement: str) -> pl.DataFrame:
        """The rows of one statement that only reads.

        >>> originset.open_study("study").sql("SELECT max(asn) > 0 AS known FROM addresses").columns
        ['known']

        Raises:
            UsageError: it does more than read, or DuckDB refuses it.
        """
        return run(self._connection, statement)

    def close(self) -> None:
        """Close the database."""
        self._open.close()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the database."""
        self.close()


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why connections of a HAR's pages were not shared, and what would change that.

    ``ladder``: the rows of the query ``ladder_summary``, from what was measured to the best case.
    ``redundant_connections``: the rows of that table, one for each connection that an earlier one could have served.
    ``advice``: changes, those of the site's owner first, each with ``who`` can make it, ``fix``, and for how many
    ``connections`` it removes the first obstacle.
    """

    ladder: pl.DataFrame
    redundant_connections: pl.DataFrame
    advice: list[Advice]


def open_study(path: str | PathLike[str]) -> StudyReader:
    """Open a study's folder for reading.

    >>> originset.open_study("study").query("ladder_summary").select("rung", "total", "saved_pct").height > 5
    True

    Raises:
        StudyError: there is no study or no database in it yet, it is damaged, or of another version.
    """
    return StudyReader(path)


def explain(path: str | PathLike[str]) -> Explanation:
    """Explain a HAR file, as the command of that name does; nothing is contacted.

    >>> explanation = originset.explain("page.har")
    >>> explanation.redundant_connections.height
    6
    >>> explanation.advice[0].fix[:23]
    'add scores.live.daily.t'

    Raises:
        InputError: the file cannot be used.
        UsageError: it does not exist, or has no page.
    """
    with study_of([Path(path)]) as study, open_database(study) as connection:
        return Explanation(
            ladder=rows_of(connection, "ladder_summary"),
            redundant_connections=run(connection, "FROM redundant_connections"),
            advice=[change for changes in advice(connection).values() for change in changes],
        )


def plan(
    study: str | PathLike[str], site: str, *, max_additions: int | None = None, exclude: Collection[str] = ()
) -> Plan:
    """What a site's servers can announce in ORIGIN frames, and which names its certificate lacks for more.

    ``max_additions``: names to add at most. ``exclude``: hosts, in lower case, that are neither announced nor added.
    ``msgspec.json.encode`` makes a ``plan.json`` of the result.

    >>> originset.plan("study", "example.com").servers[0].origins
    ['https://www.example.com']

    Raises:
        StudyError: there is no study, or no database in it yet.
        UsageError: the study has no such site, or saw no server of it.
    """
    return site_plan(Study(Path(study)), site, max_additions, excluded=Exclusions(hosts=frozenset(exclude)))
