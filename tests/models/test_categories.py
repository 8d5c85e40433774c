"""Categories of texts, held against a dictionary."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from originset.models.categories import Categories

texts = st.text(alphabet="ab.\0é", max_size=20)


@given(calls=st.lists(st.lists(texts, max_size=20), max_size=5))
def test_a_text_has_one_number_and_its_category(calls) -> None:
    categories, known = Categories(), {}
    for call in calls:
        numbers = categories.numbers(pl.Series(call, dtype=pl.String))
        assert numbers.tolist() == [known.setdefault(text, len(known)) for text in call]
        asked = np.append(numbers, -1)
        found = categories.texts(asked)
        assert found.dtype == pl.Categorical
        assert found.to_list() == [*call, None]
        assert found.cast(pl.String).cast(pl.Categorical).to_physical().equals(found.to_physical())
