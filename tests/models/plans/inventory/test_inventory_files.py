"""Inventories that somebody else sent: what small files may unpack to, and columns of the wrong kind."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from originset.data.errors import InputError
from originset.models.plans.inventory import inventory_files
from originset.models.plans.inventory.inventory_files import read_inventory, scan_traffic

TEXT = b"certificate,names\na,a.test\n"


def _repeated(text: str, rows: int) -> pa.Array:
    """A text that stands in a Parquet file once."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([text]))


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_packed_file_is_not_unpacked(tmp_path: Path, pack) -> None:
    path = tmp_path / "inventory.csv"
    path.write_bytes(pack(TEXT))
    for read in (read_inventory, scan_traffic):
        with pytest.raises(InputError, match="is packed: unpack it first"):
            read(path)


@pytest.mark.parametrize(("limit", "bound"), [("_MOST_ROWS", 999), ("_MOST_BYTES", 6_999_999)])
def test_a_text_that_many_rows_share_is_counted_before_it_is_read(tmp_path: Path, monkeypatch, limit, bound) -> None:
    path = tmp_path / "inventory.parquet"
    columns = {"certificate": [str(number) for number in range(1000)], "names": _repeated("a.test " * 1000, 1000)}
    pq.write_table(pa.table(columns), path, compression="zstd")
    assert read_inventory(path).certificates.height == 1000
    monkeypatch.setattr(inventory_files, limit, bound)
    with pytest.raises(InputError, match="has more than") as refusal:
        read_inventory(path)
    assert refusal.value.reason == "too-large"


def test_a_column_of_another_kind_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "inventory.parquet"
    pq.write_table(pa.table({"certificate": ["a"], "names": [{"x": 7}]}), path)
    with pytest.raises(InputError, match="neither Parquet nor CSV"):
        read_inventory(path)
