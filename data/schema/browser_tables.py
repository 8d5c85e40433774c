"""The tables and columns that the models of browsers fill."""

from __future__ import annotations

from originset.data.schema.columns import VISIT_ID, Column, Stage, table

# Columns of page_counts.
BROWSER_COUNTS = tuple(
    column
    for browser, name in (
        ("chromium", "Chromium"),
        ("chromium_cookies_blocked", "Chromium, with third-party cookies blocked,"),
        ("firefox", "Firefox"),
    )
    for column in (
        Column(
            f"{browser}_tls",
            "INTEGER",
            f"{name} opens by its rules, with servers as they are; NULL where the range is not one number",
            "connections",
        ),
        Column(
            f"{browser}_tls_low",
            "INTEGER",
            "at least, whatever the recorder left out; NULL for a page with more than 1,000 hosts or connections",
            "connections",
        ),
        Column(f"{browser}_tls_high", "INTEGER", "at most, likewise", "connections"),
        Column(f"{browser}_dns", "INTEGER", f"names that {name} looks up for the page", "lookups"),
    )
)

REDUNDANT_CONNECTIONS = table(
    "redundant_connections",
    Stage.MODELLED,
    "visit_id connection_id",
    "TLS connections with requests that an earlier one of the page could have served, and why it did not. Those of "
    "pages with more than 1,000 hosts or connections are not compared.",
    VISIT_ID,
    Column("connection_id", "BIGINT", "the connection"),
    Column("reusable_connection_id", "BIGINT", "the earlier one: of several, the one that the least stands against"),
    Column("host", "VARCHAR", "whom the connection was first used for"),
    Column("reusable_host", "VARCHAR", "whom the earlier one was first used for"),
    Column("same_host", "BOOLEAN", "both are of one host and port"),
    Column(
        "cause",
        "VARCHAR",
        "the obstacle that must go first: SPECIAL, MISDIRECTED, ORIGIN_UNSUPPORTED, IP, CERT, CERT+IP, "
        "ORIGIN_EXCLUDED, PORT_SCHEME, H1, PROTO_MIX, CRED, PARTITION, RACE, LIFETIME; NOT_DECIDABLE: the recorder "
        "left out what decides, of this one or of one before it; UNKNOWN: no known rule forbade it",
    ),
    Column(
        "detail",
        "VARCHAR",
        "SAME_HOST_H1, REUSABLE_H1 (the earlier one's alone), CREDENTIALS, THIRD_PARTY_COOKIES, V4_V6, SAME_PREFIX, "
        "SAME_AS, OTHER_AS, SAME_HOST",
    ),
    Column("causes", "VARCHAR[]", "all that certainly apply, in that order"),
    Column("needs", "VARCHAR[]", "what was missing to decide about others: certificate names, DNS answers, ..."),
    Column("fixable_by", "VARCHAR", "site, host_owner, cdn, browser or nobody; NULL where that is not known"),
    Column("fix", "VARCHAR", "what they would do; NULL where nobody can, or who is not known"),
    Column(
        "based_on_live",
        "BOOLEAN",
        "weighed with a certificate or DNS answers that the recording lacks and study enrich --live asked for since",
    ),
    Column(
        "sander_immediate",
        "VARCHAR[]",
        "Sander et al.'s causes (CERT, IP, CRED), connections of unknown end taken to close after their last request",
    ),
    Column("sander_endless", "VARCHAR[]", "the same, connections of unknown end taken never to close"),
)

BROWSER_PREDICTIONS = table(
    "browser_predictions",
    Stage.MODELLED,
    "visit_id browser model",
    "What each browser needs for a page: with servers as they are, and after a plan. With servers as they are, where a "
    "recording lacks a host's DNS answers, the address that its requests were sent to is taken for all of them. "
    "Without pages with more than 1,000 hosts or connections.",
    VISIT_ID,
    Column("browser", "VARCHAR", "chromium or firefox"),
    Column(
        "model",
        "VARCHAR",
        "today; planned: the document's server announces, and its certificate names, every host in its AS that is of "
        "its own registrable domain or covered already, and for which no server answered 421",
    ),
    Column("tls_low", "INTEGER", "connections, at least", "connections"),
    Column("tls_high", "INTEGER", "connections, at most", "connections"),
    Column(
        "as_recorded",
        "INTEGER",
        "of these, those that the model spares only because the recording has the requests on another host's "
        "connection: it holds no DNS answers, certificate names or credentials that would decide it. Where this is not "
        "0, that the model and a recording by the same browser agree is no test of the model.",
        "connections",
    ),
    Column("dns", "INTEGER", "names looked up; NULL where it depends on what is not known", "lookups"),
    Column(
        "handshake_bytes",
        "BIGINT",
        "certificates sent in the handshakes of tls_high connections; NULL where a chain's sizes are not known",
        "bytes",
    ),
    Column("round_trips", "INTEGER", "round trips of these handshakes: 2 for TCP and TLS 1.3, 1 for QUIC"),
)

PREDICTIONS_CHECK = table(
    "predictions_check",
    Stage.MODELLED,
    "visit_id protocol",
    "The back-test: the connections that the rules of the browser which was recorded predict for each page, from facts "
    "alone, against those that it used. Which requests shared a connection is no such fact, and neither is, where the "
    "recording has DNS answers of a host, the address that its requests were sent to. Requests of unknown connections "
    "are left out on both sides. There are no rows of pages whose connections are not known, of other browsers, and of "
    "pages with more than 1,000 hosts or connections. The sums over a page's rows are in checked_pages.",
    VISIT_ID,
    Column("protocol", "VARCHAR", "h1, h2, h3, or unknown: what the recording has the requests sent by"),
    Column("browser", "VARCHAR", "chromium or firefox: whose build was recorded, and whose rules are applied"),
    Column("tls_low", "INTEGER", "predicted, at least", "connections"),
    Column("tls_high", "INTEGER", "predicted, at most", "connections"),
    Column("recorded", "INTEGER", "those that carried requests in the recording", "connections"),
    Column("error", "INTEGER", "recorded above tls_high, or, negative, below tls_low; 0 within", "connections"),
    Column(
        "error_cause",
        "VARCHAR",
        "the commonest, in the words of redundant_connections.cause; where more were recorded, why these were not "
        "shared; where fewer, what the rules took to forbid the sharing that was recorded; NULL without error",
    ),
)

_MODELS = ("chromium", "firefox", "planned_chromium", "planned_firefox")

PAGE_NAMES = table(
    "page_names",
    Stage.MODELLED,
    "visit_id host",
    "The names that each page asked for, and where each browser tells them to the network; exposures is made of it.",
    VISIT_ID,
    Column("host", "VARCHAR", "the name"),
    Column("measured_dns", "BOOLEAN", "it was looked up; NULL where the recorder cannot know"),
    Column("measured_sni", "BOOLEAN", "a handshake was made for it"),
    Column("dns_clear", "BOOLEAN", "it was asked for over plain DNS; NULL where the recorder does not say how"),
    Column("sni_clear", "BOOLEAN", "without Encrypted Client Hello at least once; NULL likewise"),
    Column("ech_offered", "BOOLEAN", "its HTTPS record has keys for Encrypted Client Hello; NULL where not asked for"),
    Column("chromium_sni_clear", "BOOLEAN", "Chromium, whose DNS is not encrypted, would show it in a handshake"),
    Column("firefox_sni_clear", "BOOLEAN", "Firefox likewise"),
    *(
        Column(f"{model}_{channel}", "BOOLEAN", f"told in {channel} by the model {model}; NULL where that is not known")
        for model in (*_MODELS, "best_case")
        for channel in ("dns", "sni")
    ),
    Column("chromium_cookies_blocked_dns", "BOOLEAN", "as chromium_dns, with third-party cookies blocked"),
)


PAGE_ADDRESSES = table(
    "page_addresses",
    Stage.MODELLED,
    "visit_id ip",
    "The addresses that each page's connections lead to, measured and by each browser; exposures is made of it.",
    VISIT_ID,
    Column("ip", "VARCHAR", "the address"),
    Column("measured", "BOOLEAN", "the page was in contact with it"),
    *(
        Column(
            model,
            "BOOLEAN",
            f"a connection leads there by the model {model}; NULL where that is not known",
        )
        for model in (*_MODELS, "best_case")
    ),
)


def _exposed() -> str:
    ways = [
        ("dns", "dns_clear", "measured_dns", "measured"),
        ("sni", "sni_clear", "measured_sni", "measured"),
        ("dns", "dns_clear", "best_case_dns", "best_case"),
        ("sni", "coalesce(sni_clear, chromium_sni_clear)", "best_case_sni", "best_case"),
        *(("dns", "dns_clear", f"{model}_dns", model) for model in _MODELS),
        *(("sni", f"{model.rpartition('_')[2]}_sni_clear", f"{model}_sni", model) for model in _MODELS),
    ]
    parts = [
        f"SELECT visit_id, host, '{channel}' AS channel, CASE WHEN {told} THEN {clear} END AS clear, "  # noqa: S608 - from here
        f"'{model}' AS model FROM page_names WHERE {told} IS DISTINCT FROM false"
        for channel, clear, told, model in ways
    ]
    addresses = [
        f"SELECT visit_id, ip AS host, 'ip' AS channel, CASE WHEN {model} THEN true END AS clear, '{model}' AS model "  # noqa: S608 - from here
        f"FROM page_addresses WHERE {model} IS DISTINCT FROM false"
        for model in ("measured", *_MODELS, "best_case")
    ]
    return " UNION ALL ".join([*parts, *addresses])


EXPOSURES = table(
    "exposures",
    Stage.MODELLED,
    "visit_id host channel model",
    "Names of a page that an observer on the path sees: in DNS, in the server name of handshakes, by the address.",
    VISIT_ID,
    Column("host", "VARCHAR", "the name; for channel ip the address"),
    Column("channel", "VARCHAR", "dns, sni or ip"),
    Column(
        "clear",
        "BOOLEAN",
        "readable on the path: plain DNS, a handshake without Encrypted Client Hello, any address; NULL where that, or "
        "whether it is told at all, is not known",
    ),
    Column("model", "VARCHAR", "measured, chromium, firefox, planned_chromium, planned_firefox or best_case"),
    view=_exposed(),
)
