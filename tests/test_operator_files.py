"""The samples of files in docs/howto-operator.md are read by the commands that they are for."""

import re
from pathlib import Path

import polars as pl

from originset.crawler.crawl.site_list import read_exclusions
from originset.models.plans.client_mix_file import read_client_mix
from originset.models.plans.inventory.certificate_inventory import INVENTORY, Limits
from originset.models.plans.inventory.inventory_files import plan_of_files, read_inventory

_TEXT = (Path(__file__).parents[1] / "docs" / "howto-operator.md").read_text(encoding="utf-8")


def sample(title: str, path: Path) -> Path:
    found = re.search(rf"^\*\*{title}\*\*.*?```text\n(.*?)```", _TEXT, re.DOTALL | re.MULTILINE)
    assert found is not None
    path.write_text(found[1])
    return path


def test_the_samples_are_read(tmp_path: Path) -> None:
    inventory = read_inventory(sample("Certificates", tmp_path / "certificates.csv"))
    assert inventory.remarks == []
    assert inventory.certificates["certificate"].to_list() == ["shop", "static"]
    plan = plan_of_files(inventory, sample("Traffic", tmp_path / "traffic.csv"), Limits())
    assert plan.additions.select("certificates", "name", "connections_saved").rows() == [
        (["shop"], "static.edge.example", 9000)
    ]
    assert read_exclusions(sample("Names to leave alone", tmp_path / "denied")) == {
        "payments.edge.example",
        "internal.example",
    }
    assert read_client_mix(sample("Clients", tmp_path / "mix.csv")).chromium_h3 == 0.6
    log = pl.read_ndjson(sample("Experiment", tmp_path / "log.jsonl"))
    assert log.columns == ["time", "group", "connection", "host"]


def test_every_column_of_the_inventory_is_described() -> None:
    for column in INVENTORY:
        assert f"\n| `{column}` | " in _TEXT
