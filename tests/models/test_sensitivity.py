"""Which choices could be made otherwise; what each changes is in tests/cli/modelling/test_rebuild.py."""

from dataclasses import replace

from originset.models.parameters import Parameters
from originset.models.sensitivity import variants


def test_every_choice_once_with_one_chosen() -> None:
    own = Parameters(colocation="ip", provider_asns=(13335,))
    found = list(variants(own))
    assert len({(each.parameter, each.value) for each in found}) == len(found)
    choices = set(Parameters().as_dict()) - {"provider_asns"}
    assert {each.parameter for each in found if each.chosen} == choices
    assert sum(each.chosen for each in found) == len(choices)
    for each in found:
        assert each.parameters == replace(own, **{each.parameter: each.value})
        assert each.chosen == (each.parameters == own)
