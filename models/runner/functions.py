"""The models that are functions and not queries, because they are sequential or greedy."""

from __future__ import annotations

from originset.models.browsers.tables import READS, WRITES, browser_tables
from originset.models.certificates.greedy_names import GREEDY_NAMES, greedy_names
from originset.models.certificates.unsignable_names import UNSIGNABLE_NAMES, unsignable_names
from originset.models.merging.merged_units import MERGED_UNITS, merged_units
from originset.models.model_types import FunctionModel, Rows, Scope
from originset.models.parameters import Parameters
from originset.models.timeline.load_times import MODELLED_LOAD_TIMES, modelled_load_times


def browser_rules(rows: Rows, _parameters: Parameters) -> Rows:
    """Each page replayed by the rules of Chromium and Firefox.

    See :func:`originset.models.browsers.tables.browser_tables`.
    """
    return browser_tables(rows)


FUNCTIONS: tuple[FunctionModel, ...] = (
    FunctionModel("browser_rules", Scope.PAGE, browser_rules, frozenset(READS), WRITES, of_browsers=True),
    FunctionModel(
        "modelled_load_times",
        Scope.PAGE,
        modelled_load_times,
        frozenset({"pages", "numbered_pairs", "timeline_requests"}),
        {"modelled_load_times": MODELLED_LOAD_TIMES},
    ),
    FunctionModel(
        "merged_units",
        Scope.PAGE,
        merged_units,
        frozenset({"linked_units", "unit_links"}),
        {"merged_units": MERGED_UNITS},
    ),
    FunctionModel(
        "unsignable_names",
        Scope.STUDY,
        unsignable_names,
        frozenset({"missing_names"}),
        {"unsignable_names": UNSIGNABLE_NAMES},
    ),
    FunctionModel(
        "greedy_names",
        Scope.STUDY,
        greedy_names,
        frozenset({"provider_missing_names"}),
        {"greedy_names": GREEDY_NAMES},
    ),
)
