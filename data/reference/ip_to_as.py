"""IP address to origin AS for whole columns, by longest prefix: the dated table built in or a file of the user's."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl

from originset.data.errors import InputError, UsageError
from originset.data.reference.flat_table import FlatTable, cached_flat_table
from originset.data.reference.ranges import NO_PREFIX, Prefixes
from originset.data.reference.table_files import MAX_BYTES, read_table_file, require_bounded


class IpToAs:
    """A loaded IP-to-AS table. ``described`` is its description for the study's manifest.

    A prefix that several ASes announce keeps all of them; the one AS of an address is then the lowest number, so that
    the same table gives the same answer everywhere. (pyasn's converter keeps an arbitrary one of an AS set.)
    """

    def __init__(
        self, flat: FlatTable, rows: Callable[[], pl.DataFrame], facts: Mapping[str, str], *, announced: bool = True
    ) -> None:
        """``rows`` returns the columns ``network`` and ``length`` of the table that was flattened.

        ``announced``: the prefixes are those that were announced in BGP, not made from ranges of addresses.
        """
        self._prefixes = flat.prefixes
        # One more place than there are prefixes: "nothing" is position -1, the last.
        self._asns = pl.concat([flat.asns, pl.Series([None], dtype=pl.List(pl.Int64))]).rechunk()
        self._asn = self._asns.list.first().fill_null(0).to_numpy()
        self._rows = rows
        self._facts = dict(facts)
        self._announced = announced

    @classmethod
    def load(cls, path: Path) -> IpToAs:
        """A table of the user's, in any format of :func:`read_table_file`; its prefixes are taken to be announcements.

        Raises:
            InputError: it cannot be read, or is in none of the formats.
        """
        content = read_file(path)
        table = read_table_file(content, str(path))
        facts = {"source": path.name, "format": table.format, "sha256": hashlib.sha256(content).hexdigest()}
        return cls(_flattened(table.rows, str(path)), lambda: table.rows, facts)

    @classmethod
    def from_files(
        cls, files: Sequence[tuple[bytes, str]], name: str, facts: Mapping[str, str], *, announced: bool
    ) -> IpToAs:
        """A table of several files, each its content and name; flattened once, see :func:`cached_flat_table`.

        Raises:
            InputError: a file is in none of the formats, or a prefix is not valid.
        """

        def table() -> pl.DataFrame:
            return pl.concat([read_table_file(content, file).rows for content, file in files])

        content_hash = hashlib.sha256(b"".join(hashlib.sha256(content).digest() for content, _ in files)).hexdigest()
        flat = cached_flat_table(content_hash, lambda: _flattened(table(), name))
        return cls(flat, table, facts, announced=announced)

    def origins(self, addresses: pl.Series) -> pl.DataFrame:
        """Columns ``asn`` and ``asns`` (ascending) for addresses in canonical text; NULL where no prefix holds one.

        Raises:
            ValueError: something is NULL or no address.
        """
        positions = self._prefixes.find(addresses)
        has_prefix = pl.Series(positions != NO_PREFIX)
        asn = pl.Series("asn", self._asn[positions]).set(~has_prefix, None)
        return pl.DataFrame([asn, self._asns.gather(positions % len(self._asns)).alias("asns")])

    def prefixes(self, addresses: pl.Series) -> pl.Series:
        """The announced prefix that holds each address; NULL where none does.

        Raises:
            UsageError: this table's prefixes are not announcements.
            ValueError: something is NULL or no address.
        """
        if not self._announced:
            raise UsageError(
                f"the prefixes of {self._facts['source']} are not announcements, only its AS numbers can be relied on",
                "run: originset study reference update",
            )
        positions = pl.Series(self._prefixes.find(addresses))
        texts = self._rows().select(pl.format("{}/{}", "network", "length").alias("prefix")).to_series()
        return texts.gather(positions.set(positions == NO_PREFIX, None))

    def described(self) -> dict[str, str]:
        """Source, date (where known) and SHA-256."""
        return dict(self._facts)


def _flattened(rows: pl.DataFrame, name: str) -> FlatTable:
    try:
        prefixes = Prefixes(rows["network"], rows["length"].to_numpy())
    except ValueError as error:
        raise InputError(name, "not-ip-to-as", str(error)) from error
    return FlatTable(prefixes, rows["asns"])


def read_file(path: Path) -> bytes:
    """A file's content.

    Raises:
        InputError: it cannot be read, or is larger than any table.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(str(path), "unreadable", f"cannot be read ({error.strerror})") from error
    require_bounded(content, str(path))
    return content
