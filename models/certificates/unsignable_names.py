"""The names that no public CA takes into a certificate."""

from __future__ import annotations

import polars as pl

from originset.models.model_types import Rows
from originset.models.origins import why_no_name
from originset.models.parameters import Parameters

UNSIGNABLE_NAMES = pl.Schema({"name": pl.String()})

# Most names are nothing but labels of letters, digits and inner hyphens, and certainly are host names.
_PLAIN = r"^(?:[a-z0-9](?:[a-z0-9]|-[a-z0-9]){0,30}\.){1,3}[a-z]{2,63}$"


def unsignable_names(rows: Rows, _parameters: Parameters) -> Rows:
    """Those of missing_names that are no host name by :func:`originset.models.origins.why_no_name`."""
    names = rows["missing_names"]["name"].unique()
    odd = names.filter(~names.str.contains(_PLAIN))
    unsignable = [name for name in odd if why_no_name(name) is not None]
    return {"unsignable_names": pl.DataFrame({"name": unsignable}, schema=UNSIGNABLE_NAMES)}
