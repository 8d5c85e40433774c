"""A redundant connection's reason in a few words."""

from __future__ import annotations

from originset.models.browsers.causes.connection_causes import CAUSE
from originset.queries.report.connection_reasons import WORDS_OF_CAUSES, seen_sentences, short_reason


def test_every_cause_has_words() -> None:
    assert set(WORDS_OF_CAUSES) == set(CAUSE.categories)
    assert len(set(WORDS_OF_CAUSES.values())) == len(WORDS_OF_CAUSES)


def test_other_causes_are_told_in_words() -> None:
    entry = {
        "cause": "CERT", "causes": ["CERT", "RACE"], "needs": ["times"], "hosts": ["a.test"], "server_ip": None,
        "protocol": "h2", "opened_ms": None, "first_ms": None,
    }  # fmt: skip
    assert short_reason(entry) == "not in the certificate"
    assert seen_sentences(entry, None) == [
        "This one: a.test, address not known, over h2, time of opening not known.",
        "Also in the way: started too early.",
        "Not in the recording: times.",
    ]
