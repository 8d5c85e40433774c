"""The generated study looks like the paper's pages where its parameters are fitted, says what it is, and repeats."""

import polars as pl
import pytest
from generated_study import generate
from model_tables import model_tables

from originset.data.schema.study_tables import TABLES, Stage
from originset.data.studies.shards import scan
from originset.data.studies.study import Study
from originset.models.parameters import Parameters


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> dict[str, pl.LazyFrame]:
    study = Study(tmp_path_factory.mktemp("generated") / "study")
    generate(study, 6000)
    stages = (Stage.ROWS, Stage.RESOLVED)
    return {name: scan(study, name) for name, table in TABLES.items() if table.stage in stages}


@pytest.fixture(scope="module")
def modelled(tables) -> dict[str, pl.DataFrame]:
    return model_tables(tables, Parameters(), browsers=False)


def test_medians_are_the_papers(tables, modelled) -> None:
    network = tables["requests"].join(tables["addresses"], left_on="server_ip", right_on="ip")
    medians = (
        network.group_by("visit_id")
        .agg(
            (pl.col("dns_ms") > 0).sum().alias("dns"),
            pl.col("connection_id").filter(pl.col("scheme") == "https").n_unique().alias("tls"),
            pl.col("asn").n_unique().alias("ases"),
            pl.col("server_ip").n_unique().alias("addresses"),
        )
        .select(pl.col("dns", "tls", "ases", "addresses").median())
        .collect()
    )
    assert medians.row(0) == (14, 16, 5, 13)
    assert modelled["site_certificates"]["existing_names"].median() == 2


def test_what_it_is_stands_in_every_visit(tables) -> None:
    assert tables["visits"].select("source", "recorder").unique().collect().rows() == [("synthetic", "synthetic")]


def test_rows_belong_together(tables, modelled) -> None:
    requests = tables["requests"]
    keyed = requests.select(pl.struct("visit_id", "request_id").n_unique() == pl.len()).collect().item()
    assert keyed
    caused = requests.join(
        requests.select("visit_id", pl.col("request_id").alias("initiator_id"), pl.col("started_ms").alias("before")),
        on=["visit_id", "initiator_id"],
    )
    assert caused.select((pl.col("started_ms") >= pl.col("before")).all()).collect().item()
    deep = caused.filter(pl.col("initiator_id") > 0).select(pl.len()).collect().item()
    assert deep > 0.3 * requests.select(pl.len()).collect().item()
    opened = tables["connections"].select("visit_id", "connection_id")
    carried = requests.select("visit_id", "connection_id").unique()
    assert carried.join(opened, on=["visit_id", "connection_id"], how="anti").collect().is_empty()
    assert modelled["page_load_times"]["left_out_reason"].null_count() == 6000


def test_the_same_arguments_give_the_same_study(tmp_path) -> None:
    studies = [Study(tmp_path / name) for name in ("one", "other", "third")]
    for study, seed in zip(studies, (5, 5, 6), strict=True):
        generate(study, 50, seed)
    one, other, third = (scan(study, "requests").collect() for study in studies)
    assert one.equals(other)
    assert not one.equals(third)
