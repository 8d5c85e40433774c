"""Whom a pair leads to: addresses that are not public are not contacted."""

import pytest

from originset.crawler.probe import pair_answers
from originset.crawler.probe.live_lookups import LookupPolicy
from originset.crawler.probe.pair_answers import ask_pairs


@pytest.mark.promise("pairs-stay-public")
@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00::1"])
def test_private_addresses_are_not_contacted(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def addresses(_host: str) -> list[str]:
        return [address]

    def contacted(*_: object) -> None:
        raise AssertionError("contacted")

    monkeypatch.setattr(pair_answers, "addresses_of", addresses)
    monkeypatch.setattr(pair_answers, "ProbeConnection", contacted)
    (answer,) = ask_pairs([("a.test", "b.test")], LookupPolicy(None, 50), 5)
    assert (answer.address, answer.result) == (address, "not compared")
    assert "not a public address" in answer.detail
    with pytest.raises(AssertionError, match="contacted"):
        ask_pairs([("a.test", "b.test")], LookupPolicy(None, 50, allow_private=True), 5)


def test_pairs_without_time_are_said_to_be_so() -> None:
    answers = ask_pairs([("a.test", "b.test"), ("b.test", "a.test")], LookupPolicy(None, 1), 0)
    assert {(one.result, one.detail) for one in answers} == {("not compared", "no time was left")}
