"""Texts as numbers, compared with Python's own lists and dicts."""

from itertools import groupby

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from originset.models.texts import distinct, places_in, ranked, runs

some_texts = st.lists(st.one_of(st.none(), st.sampled_from(["a", "b", "a.test", "", "ä", "b" * 40])), max_size=30)


@given(some_texts)
def test_runs(texts) -> None:
    column = pl.Series(texts, dtype=pl.String)
    found, place = runs(column)
    assert found.to_list() == [text for text, _ in groupby(texts)]
    assert found.gather(place).to_list() == texts


@given(some_texts)
def test_categories_are_given_once(texts) -> None:
    column = pl.Series(texts, dtype=pl.Categorical)
    for found, place in (distinct(column), ranked(column)):
        assert found.n_unique() == found.len()
        assert found.dtype == pl.String
        assert [found[i] if i < found.len() else None for i in place.tolist()] == texts
    assert ranked(column)[0].to_list() == sorted({text for text in texts if text is not None})


@given(some_texts, some_texts)
def test_places(texts, others) -> None:
    different = list(dict.fromkeys(others))
    place = places_in(pl.Series(different, dtype=pl.String), pl.Series(texts, dtype=pl.String))
    expected = {text: i for i, text in enumerate(different) if text is not None}
    assert place.tolist() == [expected.get(text, -1) for text in texts]
