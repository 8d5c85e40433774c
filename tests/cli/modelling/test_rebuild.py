"""The example study's database with every choice made otherwise, and with a second IP-to-AS table beside its own."""

import polars as pl
import pytest
from example_study import ROWS, tables_of
from rich.progress import Progress

from originset.cli.modelling.model_batches import side_by_side
from originset.cli.modelling.rebuild import rebuild
from originset.data.errors import StudyError
from originset.data.schema.study_tables import TABLES
from originset.data.studies.database import open_database
from originset.data.studies.shards import write_shard
from originset.data.studies.study import Study
from originset.data.studies.study_sweep import MODELS_BUILDING
from originset.models.parameters import Parameters


def make_study(folder) -> Study:
    study = Study(folder)
    study.create()
    for name, rows in tables_of(ROWS).items():
        write_shard(study, name, "example", rows.collect())
    return study


def sensitivity_of(study) -> pl.DataFrame:
    with open_database(study) as connection:
        return connection.table("model_sensitivity").pl()


@pytest.fixture(scope="module")
def rows(sensitivity_example: Study) -> pl.DataFrame:
    return sensitivity_of(sensitivity_example)


def test_every_choice_once_with_one_chosen(rows) -> None:
    assert rows.schema == TABLES["model_sensitivity"].polars_schema
    of_group = rows.partition_by("vantage", "browser", as_dict=True)
    assert set(of_group) == {("here", "chromium"), ("there", "chromium"), (None, None)}
    for own in of_group.values():
        assert own.select("parameter", "value").is_duplicated().sum() == 0
        assert own.group_by("parameter").agg(pl.col("chosen").sum())["chosen"].unique().to_list() == [1]
        assert set(own["parameter"]) == set(Parameters().as_dict()) - {"provider_asns"}
        # What is chosen is the same whichever parameter it is told of.
        assert own.filter("chosen").drop("parameter", "value").unique().height == 1


@pytest.mark.parametrize(
    ("vantage", "medians", "saved", "by_address"),
    [
        # Page a: 6 connections against 3 ASes, or 4 addresses; it deploys 5.
        ("here", (1, 6.0, 3.0), (3, 1), (4.0, 2)),
        # Page b: 2 connections, 1 AS, 2 addresses; one of them refused a host, so that it deploys 2.
        ("there", (1, 2.0, 1.0), (1, 0), (2.0, 0)),
        # Pages c and f, imported: 2 and 0 connections, 1 and 0 ASes, 1 and 0 addresses; c deploys 1.
        (None, (2, 1.0, 0.5), (1, 1), (0.5, 1)),
    ],
)
def test_what_changes(rows, vantage, medians, saved, by_address) -> None:
    saved, deployable = saved
    own = rows.filter(pl.col("vantage").eq_missing(vantage))
    found = {(row.pop("parameter"), row.pop("value")): row for row in own.iter_rows(named=True)}
    chosen = found["colocation", "asn"]
    assert (chosen["pages"], chosen["median_measured_tls"], chosen["median_ideal_origin"]) == medians
    assert chosen["connections_saved"] == saved
    other = found["colocation", "ip"]
    assert (other["median_ideal_origin"], other["connections_saved"]) == by_address
    # Without wildcards static and assets.example.com and www.example.com itself are missing too.
    assert [found[each]["additions"] for each in (("wildcards", "cover"), ("wildcards", "ignored"))] == [2, 5]
    assert found["coverage", "ignored"]["additions"] == 0
    assert chosen["connections_saved_deployable"] == deployable
    assert found["coverage", "ignored"]["sites_unchanged_pct"] == 100.0
    for (parameter, _), row in found.items():
        if parameter in {"predecessor", "parallel_dns", "blocked_time", "ssl"}:
            assert (row["connections_saved"], row["additions"]) == (saved, 2)


def test_the_same_and_another_ip_to_as_table(tmp_path, monkeypatch) -> None:
    """By a table that has all in one AS, page a needs one connection in place of three, the others one as before."""
    monkeypatch.setattr(
        "originset.cli.modelling.rebuild.variants", lambda _parameters: []
    )  # the other choices: ``rows``
    study = make_study(tmp_path / "study")
    own = tables_of(ROWS)["addresses"].collect()
    one = own.with_columns(pl.lit(64500).cast(pl.Int64).alias("asn"), pl.lit([64500]).alias("asns"))
    found = {}
    for name, addresses in (("other.dat", one), ("same.dat", own)):
        display = Progress(disable=True)
        with study.changing("model", {}):
            rebuild(study, Parameters(), sensitivity=True, second=(name, addresses), display=display)
        assert [task.completed for task in display.tasks] == [task.total for task in display.tasks]
        found[name] = sensitivity_of(study).filter(parameter="ip_to_as").sort("chosen", "vantage")
    assert found["other.dat"].select("vantage", "value", "chosen", "connections_saved").rows() == [
        (None, "other.dat", False, 1),
        ("here", "other.dat", False, 5),
        ("there", "other.dat", False, 1),
        (None, "the study's own", True, 1),
        ("here", "the study's own", True, 3),
        ("there", "the study's own", True, 1),
    ]
    # One of each vantage and browser.
    assert found["same.dat"].drop("value", "chosen").unique().height == 3


def test_rows_are_counted_and_nothing_is_left_behind(tmp_path) -> None:
    study = make_study(tmp_path / "study")
    (study.root / MODELS_BUILDING).mkdir()
    (study.root / MODELS_BUILDING / "of a killed process").write_bytes(b"half")
    display = Progress(disable=True)
    with study.changing("model", {}):
        counts = rebuild(study, Parameters(), side_by_side(2), display=display)
    (task,) = display.tasks
    assert (task.description, task.finished) == ("batches of the models", True)
    with open_database(study) as connection:
        assert counts == {name: connection.table(name).shape[0] for name in counts}
    assert counts["page_counts"] == 6
    assert not (study.root / MODELS_BUILDING).exists()


def test_a_damaged_shard_leaves_the_database(tmp_path) -> None:
    study = make_study(tmp_path / "study")
    with study.changing("model", {}):
        rebuild(study, Parameters())
    before = study.database_path.read_bytes()
    shard = study.tables / "requests" / "example.parquet"
    content = shard.read_bytes()
    shard.write_bytes(content[: len(content) // 2])
    with study.changing("model", {}), pytest.raises(StudyError):
        rebuild(study, Parameters(colocation="ip"))
    assert study.database_path.read_bytes() == before
    assert not (study.root / MODELS_BUILDING).exists()
    shard.write_bytes(content)
    with study.changing("model", {}):
        rebuild(study, Parameters(colocation="ip"))
    with open_database(study) as connection:
        assert connection.sql("SELECT ideal_origin FROM page_counts WHERE visit_id = 'a'").fetchall() == [(4,)]
