"""The models' parameters, as a study's manifest has them."""

import pytest

from originset.data.errors import InputError
from originset.models.parameters import Parameters


def test_parameters_of_a_manifest_are_those_that_were_written() -> None:
    parameters = Parameters(colocation="ip", provider_asns=(13335, 15169))
    assert Parameters.from_manifest({"models": parameters.as_dict()}) == parameters
    assert Parameters.from_manifest({}) == Parameters()


@pytest.mark.parametrize("models", [{"colocation": "moon"}, {"provider_asns": 7}, {"ssl": ["inside"]}])
def test_other_values_are_one_line(models: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"study\.json: its models have parameters that are none"):
        Parameters.from_manifest({"models": models})
