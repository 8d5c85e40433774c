"""What is to be done about a redundant connection, in a sentence for whoever can do it."""

from __future__ import annotations

import polars as pl
import pytest

from originset.models.browsers.fixes import with_fix

HOST, HELD = "img.a.test", "www.b.test"


def fix_of(cause: str, by: str | None, *, same_host: bool = False) -> str | None:
    row = {"host": HOST, "host_held": HELD, "cause": cause, "fixable_by": by, "same_host": same_host}
    others = [{**row, "cause": "UNKNOWN", "fixable_by": None}, {**row, "cause": "H1", "fixable_by": "host_owner"}]
    rows = pl.DataFrame([others[0], row, others[1]], infer_schema_length=None)
    return with_fix(rows)["fix"].to_list()[1]


@pytest.mark.parametrize(
    ("cause", "by", "says"),
    [
        ("H1", "host_owner", f"serve {HOST} over HTTP/2"),
        ("CRED", "site", f"ask {HOST} in one way: "),
        ("CRED", "browser", "share connections whatever is decided about third-party cookies"),
        ("PORT_SCHEME", "site", f"serve {HOST} on the port of {HELD}"),
        ("IP", "host_owner", f"serve {HOST} and {HELD} at the same addresses, or list {HOST} "),
        ("IP", "site", f"ask {HELD} for what {HOST} serves (one shard less), or "),
        ("RACE", "site", f"ask {HELD} for what {HOST} serves: two names "),
        ("CERT", "site", f"add {HOST} to the certificate of {HELD}, which is at the same address"),
        ("CERT", "cdn", f"where {HOST} is a name of its own, not a customer's: add it to the certificate of {HELD}, "),
        ("CERT+IP", "site", f"add {HOST} to the certificate of {HELD} and list it in the ORIGIN frame there"),
        ("MISDIRECTED", "host_owner", f"answer for {HOST} where {HELD} is served, instead of 421"),
        ("SPECIAL", "nobody", "none: a WebSocket over HTTP/1.1 keeps its connection"),
    ],
)
def test_it_names_both_hosts_and_the_step(cause: str, by: str, says: str) -> None:
    fix = fix_of(cause, by)
    assert fix is not None
    assert fix.startswith(says)
    assert "{" not in fix


def test_two_connections_to_one_host_are_the_browsers() -> None:
    assert fix_of("RACE", "browser", same_host=True) == f"wait for the connection to {HOST} that is under way"


@pytest.mark.parametrize(("cause", "by"), [("CERT", "nobody"), ("UNKNOWN", None), ("NOT_DECIDABLE", None)])
def test_where_nobody_can_there_is_none(cause: str, by: str | None) -> None:
    assert fix_of(cause, by) is None
