"""How many names certificates have, and which are asked for: whatever the order of rows, and whatever their keys."""

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from originset.models import certificate_names, texts
from originset.models.certificate_names import Marks, how_many, id_keys, name_keys, names_among, with_names
from originset.models.coverage import covered

row = st.tuples(st.sampled_from("xyz"), st.sampled_from(["a.test", "b.test", "*.test", "*.a.test"]))
at_random = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=["as they are", "often equal"])
def _few_together(request, monkeypatch):
    """So few that even small studies take several slices; also with keys that different texts have in common."""
    monkeypatch.setattr(certificate_names, "_NAMES", 3)
    monkeypatch.setattr(certificate_names, "_KEPT", 2)
    monkeypatch.setattr(certificate_names, "_TOGETHER", 1)
    if request.param == "often equal":
        for module in (certificate_names, texts):
            monkeypatch.setattr(module, "keys_of", lambda rows, other=0: (rows.hash(other) % 2).to_numpy())


def tables_of(make_tables, rows):
    names = [{"certificate_id": certificate, "name": name} for certificate, name in rows]
    return make_tables(
        {
            "certificates": [{"certificate_id": each, "san_count": 1} for each in "xyz"],
            # Several shards may have one certificate, and rows may be in any order.
            "certificate_names": names,
        }
    )


@pytest.mark.usefixtures("_few_together")
@at_random
@given(st.lists(row, max_size=15))
def test_names_are_counted_once(make_tables, rows) -> None:
    counts = how_many(tables_of(make_tables, rows), pl.Series(["y", "never seen", "x"]))
    assert counts.tolist() == [len({name for each, name in rows if each == of}) for of in ("y", "never seen", "x")]


@pytest.mark.usefixtures("_few_together")
@at_random
@given(st.lists(row, max_size=15), st.sets(row))
def test_names_asked_for_are_found(make_tables, rows, asked) -> None:
    ids, names = (pl.Series([pair[i] for pair in asked], dtype=pl.String) for i in (0, 1))
    found = names_among(tables_of(make_tables, rows), Marks(id_keys(ids) ^ name_keys(names)))
    told = found.select("certificate_id", "name").rows()
    assert len(told) == len(set(told))
    assert asked & set(rows) <= set(told) <= set(rows)


@pytest.mark.usefixtures("_few_together")
@at_random
@given(st.lists(row, max_size=15), st.lists(st.sampled_from(["a.test", "b.test", "b.a.test", "c.b.a.test"])))
def test_coverage_does_not_depend_on_keys(make_tables, rows, hosts) -> None:
    pairs = [(certificate, host) for host in hosts for certificate in "xyz"]
    frame = pl.DataFrame(pairs, schema={"certificate_id": pl.String, "host": pl.Categorical}, orient="row")
    expected = [any((of, name) in rows for name in (host, f"*.{host.partition('.')[2]}")) for of, host in pairs]
    assert covered(tables_of(make_tables, rows), frame).to_list() == expected


def test_certificates_of_which_names_are_known(make_tables) -> None:
    tables = make_tables({"certificates": [{"certificate_id": "x", "san_count": 0}, {"certificate_id": "y"}]})
    assert with_names(tables, pl.Series(["y", "x", None, "z", "x"])).tolist() == [False, True, False, False, True]


def test_marks_miss_nothing() -> None:
    keys = np.random.default_rng(7).integers(0, 2**64, 2_000, np.uint64)
    marks = Marks(keys[:500], keys[500:1_000])
    assert marks.may_have(keys[:1_000]).all()
    assert marks.may_have(keys[1_000:]).mean() < 0.5
    assert not Marks().may_have(keys).any()
