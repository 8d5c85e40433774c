"""Whom a check contacts: what a stranger's set names must not lead into somebody's network."""

import asyncio

import pytest

from originset.crawler.probe import server_observation
from originset.crawler.probe.server_observation import ProbeTarget


@pytest.mark.promise("check-stays-public")
@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1", "::1", "fe80::1", "fd00::1", "224.0.0.1",
     "::ffff:10.0.0.1", "2002:7f00:1::", "100.64.0.1"],
)  # fmt: skip
def test_private_addresses_are_not_contacted(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def contacted(*_: object) -> None:
        raise AssertionError("contacted")

    monkeypatch.setattr(server_observation, "ProbeConnection", contacted)
    public, private = ProbeTarget("a.test", "151.101.1.1"), ProbeTarget("a.test", "10.0.0.9")
    answer, security, why = asyncio.run(server_observation._own_answer(public, "b.test", 443, [address]))
    assert (answer, security) == (None, None)
    assert why == f"its address {address} is not a public one"
    # Whoever checks a server in a private network means that network.
    with pytest.raises(AssertionError, match="contacted"):
        asyncio.run(server_observation._own_answer(private, "b.test", 443, [address]))
