"""Bytes of names are those of a real certificate; limits are crossed at the byte."""

import pytest
from cryptography import x509

from originset.models.plans.certificate_costs import costs, name_bytes


def list_bytes(names: list[str]) -> int:
    return len(x509.SubjectAlternativeName([x509.DNSName(one) for one in names]).public_bytes())


@pytest.mark.parametrize("name", ["a.test", "a" * 60 + "." + "b" * 60 + ".test", ".".join(["a" * 60] * 4)])
def test_a_name_takes_what_it_takes_in_der(name: str) -> None:
    """Before the change the list is so long that its own length field does not grow with one name more."""
    before = ["x" * 60 + ".test"] * 20
    assert list_bytes([*before, name]) - list_bytes(before) == name_bytes(name)


@pytest.mark.parametrize(
    ("sizes", "tcp", "quic"),
    [
        ([3600 - 8 - 5 - 8], False, False),
        ([3600 - 8 - 5 - 7], False, True),
        ([14600 - 8 - 5 - 8], False, False),
        ([14600 - 8 - 10 - 8 - 1, 2], True, False),
        ([3600 - 8 - 5 + 1], False, False),
        ([3600 - 8 - 5], False, True),  # before the change exactly what passes
        ([14600 - 8 - 5], True, False),
    ],
)
def test_limits_are_crossed_at_the_byte(sizes: list[int], tcp: bool, quic: bool) -> None:
    made = costs(["a.test"], sizes)
    assert made.added_bytes == 8
    assert (made.crosses_tcp_initial_window, made.crosses_quic_limit) == (tcp, quic)


@pytest.mark.parametrize("chain", [None, [], [1000, None]])
def test_an_unknown_chain_leaves_it_open(chain: list[int | None] | None) -> None:
    made = costs(["a.test"], chain)
    assert (made.chain_bytes, made.crosses_tcp_initial_window, made.crosses_quic_limit) == (None, None, None)
    assert (made.added_bytes, made.issuances) == (8, 1)


def test_nothing_to_add_costs_nothing() -> None:
    made = costs([], [1000])
    assert (made.added_bytes, made.issuances, made.crosses_quic_limit) == (0, 0, False)
