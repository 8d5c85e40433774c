"""Visit ids: stable for ever, distinct for distinct visits."""

from hypothesis import given
from hypothesis import strategies as st

from originset.data.studies.identity import crawl_visit_id, import_visit_id

TEXT = st.text()
NUMBER = st.integers(min_value=1, max_value=99)


def test_ids_of_old_studies_do_not_change() -> None:
    # Published studies name these ids.
    assert crawl_visit_id("a.test", "default", 1, "", 1) == "223540b920e07b6c"
    assert import_visit_id("hars/a.har", 0) == "1740c91056718577"


@given(st.tuples(TEXT, TEXT, NUMBER, TEXT, NUMBER), st.tuples(TEXT, TEXT, NUMBER, TEXT, NUMBER))
def test_distinct_visits_have_distinct_ids(one: tuple, other: tuple) -> None:
    assert (crawl_visit_id(*one) == crawl_visit_id(*other)) == (one == other)


@given(TEXT, NUMBER)
def test_an_id_is_a_safe_file_name(path: str, page: int) -> None:
    got = import_visit_id(path, page)
    assert len(got) == 16
    assert set(got) <= set("0123456789abcdef")
