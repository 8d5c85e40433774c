"""docs/schema.md, with the values that columns may have (``make docs``)."""

from __future__ import annotations

import sys
from typing import get_args

from originset.analysis.har.quality import QUALITIES
from originset.analysis.har.recorders import BROWSERS, RECORDERS
from originset.analysis.rejects import REASONS
from originset.cli.modelling.rebuild import SECOND_TABLE
from originset.crawler.failures import ErrorKind
from originset.crawler.visits import chromium_visit
from originset.data.schema.page import page as page_with
from originset.models.browsers.causes.connection_causes import MISSING
from originset.models.parameters import Parameters
from originset.models.sensitivity import variants

#: All values that a column can have, by table and column, from the code that fills it.
VALUES = {
    ("visits", "error"): get_args(ErrorKind),
    ("visits", "recorder"): RECORDERS,
    ("visits", "browser"): BROWSERS,
    ("visits", "quality"): tuple(dict.fromkeys((*QUALITIES, *chromium_visit.QUALITIES))),
    ("redundant_connections", "needs"): tuple(MISSING),
    ("model_sensitivity", "parameter"): (
        *dict.fromkeys(variant.parameter for variant in variants(Parameters())),
        SECOND_TABLE,
    ),
    ("rejects", "reason"): REASONS,
}


def page() -> str:
    """The whole page, as Markdown."""
    return page_with(VALUES)


if __name__ == "__main__":
    sys.stdout.write(page())
