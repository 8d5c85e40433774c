"""What is to be done about a redundant connection, in a sentence for whoever can do it."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from originset.models.browsers.causes.fixes import fixable_by, with_fix

HOST, HELD = "img.a.test", "www.b.test"
ACTS = "(acted on by Chromium over HTTP/3, Firefox over HTTP/2)"
ONE_OWNER = {"site": "a.test", "site_held": "a.test"}
OWN = {**ONE_OWNER, "main_site": "a.test"}


def advised(cause: str, **given: object) -> tuple[str | None, str | None]:
    """Who can do something, and what, of the connection to HOST; strangers' hosts unless ``given`` says otherwise."""
    row: dict[str, Any] = {
        "host": HOST, "host_held": HELD, "site": "a.test", "site_held": "b.test", "main_site": "page.test",
        "edge": None, "edge_held": None, "protocol": "h2", "protocol_held": "h2", "same_host": False, "detail": None,
        "cause": cause, **given,
    }  # fmt: skip
    others = [{**row, "cause": "UNKNOWN"}, {**row, "cause": "CERT+IP"}]
    rows = pl.DataFrame([others[0], row, others[1]], infer_schema_length=None)
    fixed = with_fix(rows.with_columns(fixable_by().alias("fixable_by")))
    return fixed.select("fixable_by", "fix").row(1)


@pytest.mark.parametrize(
    ("cause", "given", "by", "says"),
    [
        ("H1", {"protocol": "h1"}, "host_owner", f"serve {HOST} over HTTP/2"),
        ("H1", {"protocol_held": "h1"}, "host_owner", f"serve {HELD} over HTTP/2"),
        ("H1", {"protocol_held": "h1", "site_held": "page.test"}, "site", f"serve {HELD} over HTTP/2"),
        ("H1", {"protocol": "h1", "protocol_held": "h1"}, "host_owner", f"serve {HOST} and {HELD} over HTTP/2"),
        ("PROTO_MIX", {"protocol_held": "h3"}, "host_owner", f"announce HTTP/3 for {HOST} in an HTTPS record, as for "),
        ("PROTO_MIX", {"protocol": "h3"}, "host_owner", f"announce HTTP/3 for {HELD} in an HTTPS record, as for "),
        ("CRED", {"detail": "CREDENTIALS"}, "site", f"ask {HOST} in one way: "),
        ("CRED", {"detail": "THIRD_PARTY_COOKIES"}, "browser", "share connections whatever is decided about third-"),
        ("PORT_SCHEME", OWN, "site", f"serve {HOST} on the port of {HELD}"),
        ("IP", {}, "host_owner", f"serve {HOST} and {HELD} at the same addresses, or list {HOST} "),
        ("IP", OWN, "site", f"ask {HELD} for what {HOST} serves (one shard less), or "),
        ("RACE", OWN, "site", f"ask {HELD} for what {HOST} serves: two names "),
        ("RACE", ONE_OWNER, "host_owner", f"ask {HELD} for what {HOST} serves: two names "),
        ("CERT", OWN, "site", f"add {HOST} to the certificate of {HELD}, which is at the same address"),
        ("CERT", {}, "host_owner", f"if one operator has both: add {HOST} to the certificate of {HELD}, "),
        ("CERT+IP", OWN, "site", f"add {HOST} to the certificate of {HELD} and list it in the ORIGIN frame "),
        ("MISDIRECTED", {}, "host_owner", f"answer for {HOST} where {HELD} is served, instead of 421"),
        ("LIFETIME", {"site": "page.test"}, "host_owner", f"keep connections to {HELD} open for longer"),
        ("SPECIAL", {}, "nobody", "none: a WebSocket over HTTP/1.1 keeps its connection"),
    ],
)  # fmt: skip
def test_it_names_whom_it_is_for_and_the_step(cause: str, given: dict[str, str], by: str, says: str) -> None:
    who, fix = advised(cause, **given)
    assert who == by
    assert fix is not None
    assert fix.startswith(says)
    assert "{" not in fix


@pytest.mark.parametrize(
    ("cause", "says"),
    [
        ("CERT", f"if {HOST} belongs to the CDN itself, not to one of its customers: add it to the certificate of "),
        ("CERT+IP", f"if {HOST} belongs to the CDN itself, not to one of its customers: add it to the certificate of "),
    ],
)
def test_a_cdn_is_asked_about_its_own_names_alone(cause: str, says: str) -> None:
    who, fix = advised(cause, edge="cdn", edge_held="cdn")
    assert who == "cdn"
    assert fix is not None
    assert fix.startswith(says)


@pytest.mark.parametrize(
    ("cause", "given"),
    [("IP", {}), ("IP", OWN), ("CERT+IP", OWN), ("CERT+IP", {"edge": "cdn", "edge_held": "cdn"}),
     ("ORIGIN_EXCLUDED", {})],
)  # fmt: skip
def test_advice_to_list_a_host_says_who_acts_on_it(cause: str, given: dict[str, str]) -> None:
    _, fix = advised(cause, **given)
    assert fix is not None
    assert "ORIGIN frame" in fix
    assert fix.endswith(ACTS)


def test_of_two_connections_to_one_host_the_host_is_named_once() -> None:
    here = {"host_held": HOST, "same_host": True}
    assert advised("RACE", **here) == (
        "browser",
        f"use one connection where two to {HOST} are started at the same time",
    )
    announced = f"announce HTTP/3 for {HOST} in an HTTPS record, so that its first connection uses it"
    assert advised("PROTO_MIX", **here, protocol="h3") == ("host_owner", announced)
    assert advised("H1", **here, protocol="h1", protocol_held="h1") == ("host_owner", f"serve {HOST} over HTTP/2")
    assert advised("PORT_SCHEME", host_held=HOST) == ("host_owner", f"serve all of {HOST} on one port")


def test_no_stranger_is_asked_for_what_another_serves() -> None:
    waits = f"before opening a connection to {HOST}, wait for the one to {HELD} that is being opened"
    assert advised("RACE") == ("browser", waits)
    # The edge is one, what pages ask for is not the CDN's to say.
    assert advised("RACE", edge="cdn", edge_held="cdn") == ("browser", waits)


@pytest.mark.parametrize(
    ("cause", "by"), [("CERT+IP", "nobody"), ("UNKNOWN", None), ("NOT_DECIDABLE", None), ("CRED", None)]
)
def test_where_nobody_can_or_who_is_not_known_there_is_none(cause: str, by: str | None) -> None:
    assert advised(cause) == (by, None)
