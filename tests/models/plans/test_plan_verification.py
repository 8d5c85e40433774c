"""Predicted against observed, host by host, and a plan against the study that it is of."""

from __future__ import annotations

from typing import Any

import msgspec
import polars as pl
import pytest

from originset.data.schema.study_tables import TABLES
from originset.models.plans.origin_plan import Addition, Announced, Basis, Plan, Server
from originset.models.plans.plan_verification import Served, against_study, verified

WWW, STATIC, OLD = "www.one.test", "static.one.test", "old.one.test"


def predicted(**hosts: tuple[int, int, list[str] | None]) -> pl.DataFrame:
    names = {"www": WWW, "static": STATIC, "old": OLD}
    rows = [
        {"browser": "firefox", "host": names[key], "tls_low": low, "tls_high": high, "served_by": by,
         "http1": key == "old"}
        for key, (low, high, by) in hosts.items()
    ]  # fmt: skip
    return pl.DataFrame(rows, schema_overrides={"served_by": pl.List(pl.String)})


def of(found: pl.DataFrame, host: str) -> tuple[str, str, bool]:
    row = found.row(by_predicate=pl.col("host") == host, named=True)
    return row["predicted"], row["observed"], row["agrees"]


@pytest.mark.parametrize(
    ("said", "seen", "line"),
    [
        ((0, 0, [WWW]), {WWW: 1}, (f"that of {WWW}", f"that of {WWW}", True)),
        ((0, 0, [WWW]), {STATIC: 1}, (f"that of {WWW}", "its own", False)),
        ((1, 1, [STATIC, WWW]), {WWW: 1, STATIC: 1}, (f"its own, that of {WWW}", f"its own, that of {WWW}", True)),
        ((1, 1, [STATIC, WWW]), {STATIC: 1}, (f"its own, that of {WWW}", "its own", False)),
        ((1, 1, [STATIC]), {STATIC: 2}, ("its own", "its own (2)", False)),
        ((1, 2, [STATIC]), {STATIC: 2}, ("its own (1 to 2)", "its own (2)", True)),
        ((0, 1, None), {WWW: 1}, ("0 to 1 of its own; not certain whose else", f"that of {WWW}", True)),
        ((0, 1, None), {STATIC: 2}, ("0 to 1 of its own; not certain whose else", "its own (2)", False)),
        ((1, 1, [STATIC]), {}, ("its own", "not asked for", False)),
    ],
)
def test_a_host(said: tuple[int, int, list[str] | None], seen: dict[str, int], line: tuple[str, str, bool]) -> None:
    loads: list[Served] = [{WWW: {WWW: 1}} | ({STATIC: seen} if seen else {})]
    found = verified("https://www.one.test/", predicted(www=(1, 1, [WWW]), static=said), loads)
    assert of(found, STATIC) == line
    assert of(found, WWW) == ("its own", "its own", True)


def test_most_loads_count_and_surprises_are_rows() -> None:
    once, twice = {WWW: {WWW: 1}}, {WWW: {WWW: 2}, STATIC: {WWW: 1}}
    found = verified("p", predicted(www=(1, 1, [WWW])), [twice, once, once])
    assert found["agrees"].to_list() == [True]
    found = verified("p", predicted(www=(1, 1, [WWW])), [twice, once, twice])
    assert of(found, WWW) == ("its own", "its own (2)", False)
    assert of(found, STATIC) == ("not asked for", f"that of {WWW}", False)


def test_how_many_of_http1_is_not_judged() -> None:
    found = verified("p", predicted(old=(3, 3, [OLD])), [{OLD: {OLD: 4}}])
    assert of(found, OLD) == ("its own (over HTTP/1.1)", "its own (4)", True)
    assert not verified("p", predicted(old=(3, 3, [OLD])), [{OLD: {WWW: 1}}])["agrees"].item()


ANNOUNCED = {"level": 3, "requests": 1, "visits": 1, "seen_share": 1.0, "coalesces_today": False}
PLAN = Plan(
    site="one.test",
    basis=Basis(study="S", visits=1, vantages=1),
    servers=[
        Server(
            server=WWW,
            announce=[
                Announced(origin=f"https://{WWW}", connections_saved_firefox=0, **ANNOUNCED),
                Announced(origin=f"https://{STATIC}", connections_saved_firefox=2, **ANNOUNCED),
            ],
            left_out=[],
            warnings=[],
            connections_saved_firefox=2,
        )
    ],
    additions=[
        Addition(
            name=OLD, rank=1, certificate_id="c", level=1, same_owner=True, connections_saved_paper=1,
            connections_saved_chromium=0, connections_saved_chromium_h3=1, connections_saved_firefox=1,
        )
    ],
    additions_left_out=[], additions_not_taken=0, certificate_id="c", certificate_names=2,
)  # fmt: skip
SETS: list[dict[str, Any]] = [
    {"host": WWW, "connections_saved_firefox": 0, "covered_by_certificate": True},
    {"host": STATIC, "connections_saved_firefox": 2, "covered_by_certificate": True},
]
ADDITIONS = [
    {"name": OLD, "connections_saved_chromium": 0, "connections_saved_chromium_h3": 1, "connections_saved_firefox": 1}
]


def differences(plan: Plan, sets: list[dict[str, Any]] = SETS, additions: Any = ADDITIONS) -> list[tuple[str, str]]:
    found = against_study(
        plan,
        pl.DataFrame([{"server": WWW, "port": 443} | row for row in sets], TABLES["origin_sets"].polars_schema),
        pl.DataFrame(additions, TABLES["certificate_additions"].polars_schema),
    )
    assert found["page"].null_count() == found.height
    assert not found["agrees"].any()
    return [(row["host"], row["observed"]) for row in found.iter_rows(named=True)]


def with_set(announce: list[Announced]) -> Plan:
    return msgspec.structs.replace(PLAN, servers=[msgspec.structs.replace(PLAN.servers[0], announce=announce)])


def test_a_plan_that_says_what_the_study_says() -> None:
    assert differences(PLAN) == []


def test_a_plan_that_was_changed_or_has_aged() -> None:
    own, static = PLAN.servers[0].announce
    assert differences(with_set([own])) == [(WWW, "what it announces saves 0, by the study")]
    more = msgspec.structs.replace(static, connections_saved_firefox=3)
    assert differences(with_set([own, more])) == [(STATIC, "saves 2, by the study")]
    strange = msgspec.structs.replace(static, origin="https://else.test")
    assert differences(with_set([own, static, strange])) == [("else.test", "not in the study beside it")]
    garbage = msgspec.structs.replace(static, origin="https://*.test")
    assert differences(with_set([own, static, garbage])) == [("https://*.test", "not in the study beside it")]
    uncovered = [SETS[0], {**SETS[1], "covered_by_certificate": False}]
    assert differences(PLAN, uncovered) == [(STATIC, "its certificate does not cover it")]
    assert differences(PLAN, SETS, []) == [(OLD, "not missing, by the study")]
    unknown = [{**ADDITIONS[0], "connections_saved_chromium": None}]
    assert differences(PLAN, SETS, unknown) == [(OLD, "saves not known, by the study")]


def test_an_addition_that_the_study_does_not_lack_is_of_any_browser() -> None:
    found = against_study(
        PLAN,
        pl.DataFrame([{"server": WWW, "port": 443} | row for row in SETS], TABLES["origin_sets"].polars_schema),
        pl.DataFrame([], TABLES["certificate_additions"].polars_schema),
    )
    assert found.drop("page", "agrees").rows() == [
        ("any", OLD, "missing from the certificate", "not missing, by the study")
    ]


def test_what_a_server_saves_is_known_if_all_of_it_is() -> None:
    (server,) = PLAN.servers
    own, static = server.announce

    def saying(total: int | None, first: int | None) -> Plan:
        announce = [msgspec.structs.replace(own, connections_saved_firefox=first), static]
        servers = [msgspec.structs.replace(server, announce=announce, connections_saved_firefox=total)]
        return msgspec.structs.replace(PLAN, servers=servers)

    unknown = [{**SETS[0], "connections_saved_firefox": None}, SETS[1]]
    assert differences(saying(None, None), unknown) == []
    assert differences(saying(None, 0)) == [(WWW, "what it announces saves 2, by the study")]
    assert differences(saying(2, None), unknown) == []  # of what the study does not know it says nothing
