"""What is said of the connections that the recording's browser needs for a page, where a recording leaves a range."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from originset.data.quantity import quantity
from originset.data.reference.browser_rules import BROWSER_TITLES

_LACKS = {
    "lacks_answers": ("DNS answers of", "host"),
    "lacks_certificates": ("certificates of", "host"),
    "lacks_credentials": ("credentials of", "request"),
}


def range_sentence(facts: Mapping[str, Any]) -> str | None:
    """The range of one page, and what might narrow it; None where there is no range.

    ``facts``: predicted_browser, tls_low, tls_likely, tls_high, lacks_answers, lacks_certificates and
    lacks_credentials: columns of browser_predictions.
    """
    low, high = facts["tls_low"], facts["tls_high"]
    if facts["predicted_browser"] is None or low == high:
        return None
    lacks = [f"{of} {quantity(facts[name], noun)}" for name, (of, noun) in _LACKS.items() if facts[name]]
    sentence = (
        f"{BROWSER_TITLES[facts['predicted_browser']]} with servers as they are needs {low:,} to "
        f"{quantity(high, 'TLS connection')}, most likely {facts['tls_likely']:,}"
    )
    return f"{sentence}; what might narrow this: {', '.join(lacks)}." if lacks else f"{sentence}."
