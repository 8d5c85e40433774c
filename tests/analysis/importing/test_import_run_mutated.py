"""Nothing that can be wrong with a HAR stops an import: ``make soak`` imports 20,000, other runs a tenth."""

import os
import random
from collections import Counter
from pathlib import Path

import pytest
from mutated_hars import bases, mutate, seed
from rich.progress import Progress

from originset.analysis.importing.import_run import import_hars
from originset.data.schema.study_tables import TABLES
from originset.data.studies.shards import scan
from originset.data.studies.study import Study

HARS = Path(__file__).resolve().parents[2] / "fixtures" / "hars"
RUNS = 40 if os.environ.get("ORIGINSET_SOAK") == "full" else 4
FILES = 500


@pytest.fixture(scope="module")
def texts() -> list[bytes]:
    return bases(HARS)


@pytest.mark.promise("hars-refused-one-by-one")
@pytest.mark.soak
@pytest.mark.timeout(120)  # of one run, which takes seconds: for a reader that never ends
@pytest.mark.parametrize("run", range(RUNS))
def test_every_mutated_har_is_imported_or_rejected(run, texts, tmp_path):
    source = random.Random(seed("mutated", run))  # noqa: S311 - the same files in every run
    folder = tmp_path / "hars"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number}.har").write_bytes(mutate(source, texts))
    study = Study(tmp_path / "study")
    with study.changing("import", {}), Progress(disable=True) as progress:
        summary = import_hars(study, [folder], progress)
    visits = scan(study, "visits").collect()
    rejects = scan(study, "rejects").collect()
    imported, refused = set(visits["source"]), {error.source for error in summary.refused}
    assert imported | refused == {f"hars/{number}.har" for number in range(FILES)}
    assert not imported & refused
    assert set(rejects["source"]) == refused | {error.source for error in summary.cut_off}
    assert min(len(imported), len(refused)) > FILES // 20, "mutations that spoil all or nothing test little"
    requests = scan(study, "requests").collect()
    assert set(requests["visit_id"]) <= set(visits["visit_id"])
    assert visits["visit_id"].n_unique() == visits.height
    assert requests.select("visit_id", "request_id").n_unique() == requests.height
    for table in ("connections", "dns_queries", "certificates", "certificate_names"):
        assert scan(study, table).collect().schema == TABLES[table].polars_schema
    again = Counter(error.reason for error in summary.refused)
    assert set(again) <= {"empty", "not-json", "not-har", "truncated", "too-deep", "damaged", "not-capture"}
