"""What counts as a bot challenge."""

import pytest

from originset.crawler.visits.page_facts import PageFacts, is_challenge


def facts(*, challenge: bool = False, title: str = "") -> PageFacts:
    return PageFacts(banner=False, challenge=challenge, title=title, viewport="1x1", links=[])


@pytest.mark.parametrize(
    ("status", "headers", "shown", "expected"),
    [
        (403, {"CF-Mitigated": "challenge"}, None, True),
        (202, {"x-amzn-waf-action": "challenge"}, facts(), True),
        (403, {"cf-mitigated": "block"}, facts(), False),
        (503, {}, facts(title="Just a moment..."), True),
        (200, {}, facts(title="Just a moment..."), False),
        (200, {}, facts(challenge=True), True),
        (403, {}, facts(), False),
        (403, {}, None, False),
    ],
)
def test_challenges(status: int, headers: dict[str, str], shown: PageFacts | None, expected: bool) -> None:
    assert is_challenge(status, headers, shown) is expected
