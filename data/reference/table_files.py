"""Files that map announced prefixes to origin ASes, read into columns: pyasn's format, CAIDA's pfx2as, MRT dumps."""

from __future__ import annotations

import bz2
import gzip
import io
import struct
import zlib
from dataclasses import dataclass

import polars as pl

from originset.data.errors import InputError
from originset.data.extras import missing_package

_GZIP, _BZIP2 = b"\x1f\x8b", b"BZh"
_MRT_TABLE_DUMPS = (12, 13)
_ORIGINS = r"^\d{1,10}(?:[_,]\d{1,10})*$"
_LARGEST_ASN = 2**32 - 1

# Of all prefixes, beyond one origin of ten digits each; each takes a dozen times as much memory as text.
_MORE_ORIGINS_BYTES = 16 << 20

#: The most bytes of a file, packed or not: all of BGP is some 30 MB of text, and an MRT dump of one peer less.
MAX_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class TableFile:
    """Columns ``network`` (address), ``length`` and ``asns`` (origins, ascending), and what format they were in."""

    rows: pl.DataFrame
    format: str


def read_table_file(content: bytes, name: str) -> TableFile:
    """A table in any of the formats, packed by gzip or bzip2 or not.

    pyasn's: ``PREFIX/LENGTH<TAB>ASN``, comments after ``;`` or ``#``. CAIDA's pfx2as:
    ``PREFIX<TAB>LENGTH<TAB>ORIGINS``, where ``_`` stands between origins of a prefix that several announce and ``,``
    between the members of an AS set; all of them are origins here. MRT table dumps (RFC 6396) go through pyasn's
    converter, which takes the path of a prefix's first entry and leaves default routes out.

    Raises:
        MissingDependency: an MRT table dump, without pyasn.
        InputError: it is none of these, has more than :data:`MAX_BYTES` unpacked, or a line is not as it should be.
    """
    content = _decompressed(content, name)
    if _is_mrt(content):
        return TableFile(_read_mrt(content, name), "MRT")
    columns = _columns(content)
    if columns is None:
        raise InputError(name, "not-ip-to-as", "neither pyasn's format nor pfx2as nor an MRT table dump")
    if columns == 2:
        rows = _read_lines(content, name, ["prefix", "origins"]).with_columns(
            pl.col("prefix").str.split_exact("/", 1).struct.rename_fields(["network", "length"]).struct.unnest()
        )
        return TableFile(_checked(rows, name), "pyasn")
    return TableFile(_checked(_read_lines(content, name, ["network", "length", "origins"]), name), "pfx2as")


def _decompressed(content: bytes, name: str) -> bytes:
    try:
        if content.startswith(_GZIP):
            content = gzip.GzipFile(fileobj=io.BytesIO(content)).read(MAX_BYTES + 1)
        elif content.startswith(_BZIP2):
            content = bz2.BZ2File(io.BytesIO(content)).read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise InputError(name, "unreadable", f"cannot be unpacked ({error})") from error
    require_bounded(content, name)
    return content


def require_bounded(content: bytes, name: str) -> None:
    """Refuse what is larger than any table; read one byte more than :data:`MAX_BYTES` to know.

    Raises:
        InputError: it is larger.
    """
    if len(content) > MAX_BYTES:
        raise InputError(name, "too-large", f"has more than {MAX_BYTES >> 20} MiB unpacked, which no table has")


def _is_mrt(content: bytes) -> bool:
    return len(content) >= 12 and struct.unpack(">H", content[4:6])[0] in _MRT_TABLE_DUMPS


def _columns(content: bytes) -> int | None:
    """The number of columns of the first line that is not a comment, if the format is known."""
    for line in io.BytesIO(content):
        fields = line.strip().split(b"\t")
        if fields == [b""] or line.startswith((b";", b"#")):
            continue
        if len(fields) == 2 and b"/" in fields[0]:
            return 2
        return 3 if len(fields) == 3 and fields[1].isdigit() else None
    return None


def _read_lines(content: bytes, name: str, columns: list[str]) -> pl.DataFrame:
    if any(line.startswith(b"#") for line in io.BytesIO(content[:100_000])):
        content = b"".join(line for line in io.BytesIO(content) if not line.startswith(b"#"))
    try:
        return pl.read_csv(
            content,
            has_header=False,
            separator="\t",
            quote_char=None,
            comment_prefix=";",
            schema=dict.fromkeys(columns, pl.String),
            encoding="utf8-lossy",
        ).filter(~pl.all_horizontal(pl.all().is_null()))
    except pl.exceptions.PolarsError as error:
        raise InputError(name, "not-ip-to-as", f"its lines differ in form ({str(error).splitlines()[0]})") from error


def _checked(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Numbers as numbers; refuses what does not hold any."""
    length = pl.col("length").cast(pl.Int64, strict=False)
    good = (
        pl.col("network").is_not_null()
        & length.is_between(1, 128)
        & pl.col("origins").str.strip_chars().str.contains(_ORIGINS)
    ).fill_null(value=False)
    if (wrong := rows.filter(~good)).height:
        line = " ".join(str(value) for value in wrong.row(0))[:80]
        raise InputError(name, "not-ip-to-as", f"not a prefix with its origins: {line!r}")
    several = pl.col("origins").str.contains("[_,]")
    if rows.select(pl.col("origins").str.len_bytes().sum()).item() > rows.height * 11 + _MORE_ORIGINS_BYTES:
        raise InputError(name, "not-ip-to-as", "its prefixes have more origins than those of any table")
    origins = pl.col("origins").str.strip_chars().str.replace_all(",", "_", literal=True)
    # Few prefixes have several origins: only these are taken apart.
    rows = rows.with_columns(origins.alias("origins"), length.alias("length")).select(
        "network",
        "length",
        pl.when(several)
        .then(pl.when(several).then("origins").str.split("_").cast(pl.List(pl.Int64)).list.unique().list.sort())
        .otherwise(pl.concat_list(pl.when(~several).then("origins").cast(pl.Int64)))
        .alias("asns"),
    )
    smallest, largest = rows.select(
        pl.col("asns").list.min().min().alias("least"), pl.col("asns").list.max().max().alias("most")
    ).row(0)
    if rows.height and (smallest < 1 or largest > _LARGEST_ASN):
        raise InputError(name, "not-ip-to-as", f"AS{smallest if smallest < 1 else largest} is no AS number")
    return rows


def _read_mrt(content: bytes, name: str) -> pl.DataFrame:
    try:
        from pyasn import mrtx  # noqa: PLC0415 - of an extra: it has no wheels
    except ModuleNotFoundError as error:
        raise missing_package(error) or error from error
    try:
        origins = mrtx.parse_mrt_file(io.BytesIO(content), skip_record_on_error=True)
    except Exception as error:
        # The converter asserts and raises what it likes on a damaged dump.
        raise InputError(name, "not-ip-to-as", f"not an MRT table dump ({error!r})") from error
    prefix_origins = [(*prefix.split("/"), origin) for prefix, origin in origins.items()]
    rows = pl.DataFrame(
        {
            "network": [network for network, _, _ in prefix_origins],
            "length": [length for _, length, _ in prefix_origins],
            "origins": [
                "_".join(str(asn) for asn in (origin if isinstance(origin, set | frozenset) else [origin]))
                for _, _, origin in prefix_origins
            ],
        },
        schema={"network": pl.String, "length": pl.String, "origins": pl.String},
    )
    return _checked(rows, name)
