"""The names that no public CA signs in a certificate."""

from __future__ import annotations

import polars as pl

from originset.models.model_types import Rows
from originset.models.origins import why_no_name
from originset.models.parameters import Parameters

UNSIGNABLE_NAMES = pl.Schema({"name": pl.String()})

# Most names are of this form and certainly host names: labels of letters, digits and inner hyphens.
_ORDINARY_NAME = r"^(?:[a-z0-9](?:[a-z0-9]|-[a-z0-9]){0,30}\.){1,3}[a-z]{2,63}$"


def unsignable_names(rows: Rows, _parameters: Parameters) -> Rows:
    """The names of missing_names that are not host names by :func:`originset.models.origins.why_no_name`."""
    names = rows["missing_names"]["name"].unique()
    unusual = names.filter(~names.str.contains(_ORDINARY_NAME))
    unsignable = [name for name in unusual if why_no_name(name) is not None]
    return {"unsignable_names": pl.DataFrame({"name": unsignable}, schema=UNSIGNABLE_NAMES)}
