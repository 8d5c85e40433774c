"""The range of a page in one sentence."""

import pytest

from originset.queries.report.range_sentences import range_sentence


def page(low, high, answers=0, certificates=0, credentials=0, *, browser="chromium"):
    return {
        "predicted_browser": browser, "tls_low": low, "tls_likely": low, "tls_high": high, "lacks_answers": answers,
        "lacks_certificates": certificates, "lacks_credentials": credentials,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        (page(3, 3, 2), None),
        (page(None, None, browser=None), None),
        (page(1, 2), "Chromium with servers as they are needs 1 to 2 TLS connections, most likely 1."),
        (
            page(2, 9, 3, 1, 5, browser="firefox"),
            (
                "Firefox with servers as they are needs 2 to 9 TLS connections, most likely 2; what might narrow this: "
                "DNS answers of 3 hosts, certificates of 1 host, credentials of 5 requests."
            ),
        ),
    ],
)
def test_a_range_is_one_sentence(facts, says) -> None:
    assert range_sentence(facts) == says
