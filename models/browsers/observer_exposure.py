"""What of a page an observer on the path sees, names and addresses: measured, by browser, after a plan, at best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from originset.data.reference.browser_rules import browser_rules
from originset.models.browsers.batch import Ints, Part, group_numbers
from originset.models.browsers.sharing_rules import NO, YES

_NAME = ["visit_id", "host"]
_Flags = np.ndarray[Any, np.dtype[np.bool_]]


def page_names(
    part: Part, groups: pl.DataFrame, replays: Mapping[str, pl.DataFrame], best_case: _Flags
) -> pl.DataFrame:
    """Rows of ``page_names``, from which the view ``exposures`` is made, in any order; visits are numbers.

    ``best_case``: of :func:`first_of_place`. ``replays``: by ``chromium``, ``firefox``, ``planned_chromium`` and
    ``planned_firefox`` what :func:`originset.models.browsers.replay.replayed` gives of ``groups``.
    """
    plain = part.requests.filter(~pl.col("secure")).select(*_NAME, (pl.col("dns_ms") > 0).alias("phase"))
    asked = part.queries.filter(pl.col("source") == "browser")
    opened = part.connections.select("visit_id", pl.col("first_host").alias("host"), "ech", "tls")
    opened = opened.filter(pl.col("tls").ne_missing(other=False))
    every = pl.concat([frame.select(_NAME) for frame in (groups, plain, asked, opened)])
    name, firsts = group_numbers(every)
    of_group, of_plain, of_query, of_connection = np.split(name, np.cumsum([groups.height, plain.height, asked.height]))

    def any_of(of: Ints, flags: pl.Series) -> _Flags:
        return _any(of, flags.fill_null(value=False).to_numpy(), firsts.size)

    def there(of: Ints) -> _Flags:
        return _any(of, np.ones(of.size, np.bool_), firsts.size)

    encrypted = asked["resolver"].str.contains("^(https|tls|quic)://").fill_null(value=False)
    looked_up, secure, shaken = there(of_query), there(of_group), there(of_connection)
    phase = any_of(of_group, groups["phase"]) | any_of(of_plain, plain["phase"])
    of_page = every["visit_id"].gather(firsts).to_numpy()
    crawled = part.visits["crawled"].to_numpy()[of_page]
    recorded = np.zeros(part.visits.height, np.bool_)
    recorded[part.connections["visit_id"].to_numpy()] = True
    best = _any(of_group, best_case, firsts.size)
    in_clear = any_of(of_connection, ~opened["ech"])
    everywhere = np.ones(firsts.size, np.bool_)
    # What is told, and where it is known.
    columns: dict[str, tuple[_Flags, _Flags]] = {
        "measured_dns": (np.where(crawled, looked_up, phase), crawled | phase),
        "measured_sni": (shaken, recorded[of_page]),
        "dns_clear": (any_of(of_query, ~encrypted), looked_up),
        "sni_clear": (in_clear, shaken & (in_clear | ~any_of(of_connection, opened["ech"].is_null()))),
        # A name that only http asked for, or that does not exist, is looked up whatever browser and plan.
        "best_case_dns": (best | ~secure, everywhere),
        "best_case_sni": (best, everywhere),
    }
    columns |= _by_model(replays, of_group, secure)
    names = every[firsts]
    offered = _offered(part, names, crawled)
    hidden = {
        # Without encrypted DNS, a browser that needs it hides no name with the keys that are offered.
        f"{browser}_sni_clear": pl.lit(value=True) if rules.ech_needs_encrypted_dns else ~pl.col("ech_offered")
        for browser, rules in browser_rules().items()
    }
    facts = pl.DataFrame(
        {name: value for name, (value, _) in columns.items()}
        | {f"{name}_known": known for name, (_, known) in columns.items()}
        | {"ech_offered": offered, "literal": part.facts.is_ip_literal(names["host"])}
    )
    return (
        names.hstack(facts)
        .filter(~pl.col("literal"), pl.col("host").is_not_null())
        .select(*_NAME, "ech_offered", *(pl.when(f"{name}_known").then(name).alias(name) for name in columns), **hidden)
    )


def _by_model(replays: Mapping[str, pl.DataFrame], of_group: Ints, secure: _Flags) -> dict[str, tuple[_Flags, _Flags]]:
    """Of each name whether each browser connects for it and looks it up, and where that is known."""
    columns = {}
    for model, of_model in replays.items():
        opens, lookups = of_model["opens"].to_numpy(), of_model["looked_up"]
        opened, perhaps = (_any(of_group, flags, secure.size) for flags in (opens == YES, _may_open(of_model)))
        asked = _any(of_group, lookups.fill_null(value=False).to_numpy(), secure.size)
        without_by_recording = ~lookups.fill_null(value=True) & of_model["as_recorded"]
        unsure = _any(of_group, (lookups.is_null() | without_by_recording).to_numpy(), secure.size)
        columns[f"{model}_sni"] = opened, opened | ~perhaps
        columns[f"{model}_dns"] = asked | ~secure, asked | ~unsure
    return columns


def _may_open(of_model: pl.DataFrame) -> _Flags:
    """Which groups may open a connection: also those that share one only because the recording shows them on it."""
    return np.asarray((of_model["opens"].to_numpy() != NO) | of_model["as_recorded"].to_numpy())


def page_addresses(
    part: Part, rows: pl.DataFrame, groups: pl.DataFrame, replays: Mapping[str, pl.DataFrame], best_case: _Flags
) -> pl.DataFrame:
    """Rows of ``page_addresses``, likewise. Where the address that a connection leads to is not known, it has none.

    ``rows``: of :func:`originset.models.browsers.request_groups.modes_of`.
    """
    # What is of one connection went to one address.
    requests = part.requests.select("visit_id", "secure", "connection_id", "server_ip")
    alone = requests.filter(pl.col("connection_id").is_null() | ~pl.col("secure")).select(
        "visit_id", "secure", pl.col("server_ip").alias("ip")
    )
    led = pl.concat(
        frame.select("visit_id", pl.col("server_ip").alias("ip")) for frame in (rows, part.connections)
    ).vstack(alone.select("visit_id", "ip"))
    plain = alone.filter(~pl.col("secure")).select("visit_id", "ip")
    peers = groups.select("visit_id", pl.col("peer").alias("ip"))
    every = pl.concat([peers, plain, led])
    place, firsts = group_numbers(every)
    of_group, of_plain, of_led = np.split(place, np.cumsum([peers.height, plain.height]))
    # What goes without TLS goes there whatever browser and plan.
    always = _any(of_plain, np.ones(plain.height, np.bool_), firsts.size)
    columns = {
        "measured": _any(of_led, np.ones(led.height, np.bool_), firsts.size),
        "best_case": always | _any(of_group, best_case, firsts.size),
    }
    for model, of_model in replays.items():
        opens = of_model["opens"].to_numpy()
        certain = always | _any(of_group, opens == YES, firsts.size)
        columns[model] = certain
        columns[f"{model}_known"] = certain | ~_any(of_group, _may_open(of_model), firsts.size)
    return (
        every[firsts]
        .hstack(pl.DataFrame(columns))
        .filter(pl.col("ip").is_not_null())
        .select(
            *("visit_id", "ip", "measured", "best_case"),
            *(pl.when(f"{model}_known").then(model).alias(model) for model in replays),
        )
    )


def _any(of: Ints, flags: _Flags, names: int) -> _Flags:
    found = np.zeros(names, np.bool_)
    found[of[flags]] = True
    return found


def _known(known: _Flags, values: _Flags) -> pl.Series:
    return pl.select(pl.when(pl.Series(known)).then(pl.Series(values))).to_series()


def _offered(part: Part, names: pl.DataFrame, crawled: _Flags) -> pl.Series:
    """Whether each name's HTTPS record has ECH keys (RFC 9849), which let those hide the name that use them."""
    records = part.queries.filter(pl.col("rtype") == "HTTPS")
    none = _known(crawled, np.zeros(names.height, np.bool_))
    if records.is_empty():
        return none
    keys = (
        records.lazy()
        .group_by(_NAME)
        .agg(pl.col("answers").list.eval(pl.element().str.contains(r"\bech\b")).list.any().any().alias("offered"))
        .collect()
    )
    found = names.join(keys, on=_NAME, how="left", maintain_order="left")["offered"]
    return pl.select(pl.coalesce(found, none)).to_series()


def first_of_place(part: Part, groups: pl.DataFrame) -> _Flags:
    """Whether each group is the first of its page in its AS, or at its address where that is in none."""
    unplaced = pl.col("asn").is_null()
    place = groups.select(
        "visit_id",
        part.facts.asns(groups["server_ip"]).alias("asn"),
        pl.col("server_ip").alias("ip"),
        "host",
    ).with_columns(
        pl.when(unplaced).then("ip"), pl.when(unplaced & pl.col("ip").is_null()).then("host")
    )  # fmt: skip
    _, firsts = group_numbers(place)
    first = np.zeros(groups.height, np.bool_)
    first[firsts] = True
    return first
