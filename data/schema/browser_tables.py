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
            f"TLS connections that {name} opens by its rules with servers as they are; NULL if the bounds differ",
            "connections",
        ),
        Column(
            f"{browser}_tls_low",
            "INTEGER",
            "lower bound, for anything that the recorder left out; NULL for a page with more than 1,000 hosts or "
            "connections",
            "connections",
        ),
        Column(
            f"{browser}_tls_likely",
            "INTEGER",
            "the likeliest count within the bounds; predictions_check_summary says how often it is right; NULL as them",
            "connections",
        ),
        Column(f"{browser}_tls_high", "INTEGER", "upper bound; NULL likewise", "connections"),
        Column(f"{browser}_dns", "INTEGER", f"names that {name} looks up for the page", "lookups"),
    )
)

REDUNDANT_CONNECTIONS = table(
    "redundant_connections",
    Stage.MODELLED,
    "visit_id connection_id",
    "The TLS connections with requests that an earlier connection of the page could have served, and why the browser "
    "opened them. Pages with more than 1,000 hosts or connections are left out.",
    VISIT_ID,
    Column("connection_id", "BIGINT", "the connection"),
    Column("reusable_connection_id", "BIGINT", "the earlier connection; of several, the one with the fewest obstacles"),
    Column("host", "VARCHAR", "host of the connection's first request"),
    Column("reusable_host", "VARCHAR", "host of the earlier connection's first request"),
    Column("same_host", "BOOLEAN", "both connections were opened for the same host and port"),
    Column(
        "cause",
        "VARCHAR",
        "the obstacle that must be removed first: SPECIAL, MISDIRECTED, ORIGIN_UNSUPPORTED, IP, CERT, CERT+IP, "
        "ORIGIN_EXCLUDED, PORT_SCHEME, H1, PROTO_MIX, CRED, PARTITION, RACE, LIFETIME; NOT_DECIDABLE: the recording "
        "lacks what decides this obstacle or one before it; UNKNOWN: no known rule forbade the reuse",
    ),
    Column(
        "detail",
        "VARCHAR",
        "SAME_HOST_H1, REUSABLE_H1 (the earlier one's alone), CREDENTIALS, THIRD_PARTY_COOKIES, V4_V6, SAME_PREFIX, "
        "SAME_AS, OTHER_AS, SAME_HOST",
    ),
    Column("causes", "VARCHAR[]", "all causes that certainly apply, in this order"),
    Column("needs", "VARCHAR[]", "what the recording lacks to decide the others: certificate names, DNS answers, ..."),
    Column("fixable_by", "VARCHAR", "who can fix it: site, host_owner, cdn, browser or nobody; NULL if not known"),
    Column("fix", "VARCHAR", "how they can fix it; NULL if nobody can, or if fixable_by is not known"),
    Column(
        "based_on_live",
        "BOOLEAN",
        "decided with a certificate or DNS answers that the recording lacks and study enrich --live obtained later",
    ),
    Column(
        "sander_immediate",
        "VARCHAR[]",
        "the causes by Sander et al. (CERT, IP, CRED), if a connection of unknown end closes after its last request",
    ),
    Column("sander_endless", "VARCHAR[]", "the causes by Sander et al., if a connection of unknown end never closes"),
)

BROWSER_PREDICTIONS = table(
    "browser_predictions",
    Stage.MODELLED,
    "visit_id browser model",
    "The connections and lookups that each browser needs for a page, with servers as they are and after a plan. With "
    "servers as they are, where a recording lacks a host's DNS answers, the address that its requests were sent to is "
    "taken for all of them; and where its browser opened a connection although another stood that it could have used "
    "but for what the recording lacks, it could not have used that. So it is no test of a model that a recording by "
    "the same browser is within the range: predictions_check is. Pages with more than 1,000 hosts or connections are "
    "left out.",
    VISIT_ID,
    Column("browser", "VARCHAR", "chromium or firefox"),
    Column(
        "model",
        "VARCHAR",
        "today: servers as they are; planned: the document's server announces, and its certificate covers, every host "
        "in its AS that has its registrable domain or is covered already, unless a server answered 421 for the host; "
        "recorded: servers as they are, in the version of the browser that recorded the page, if its rules are known",
    ),
    Column(
        "rules_version",
        "VARCHAR",
        "the version whose rules are applied: the newest that was observed; for recorded, of those that were observed "
        "the nearest that is not newer than the recorded one, else the oldest",
    ),
    Column("tls_low", "INTEGER", "connections, at least", "connections"),
    Column("tls_likely", "INTEGER", "connections, most likely; NULL for planned", "connections"),
    Column("tls_high", "INTEGER", "connections, at most", "connections"),
    Column(
        "as_recorded",
        "INTEGER",
        "connections that the model saves only because the recording has these requests on another host's connection, "
        "without the DNS answers, certificate names or credentials that would decide it. If this is not 0, it is no "
        "test of the model that it agrees with a recording by the same browser.",
        "connections",
    ),
    Column("dns", "INTEGER", "names looked up; NULL where the recording lacks what decides it", "lookups"),
    Column(
        "handshake_bytes",
        "BIGINT",
        "certificates sent in the handshakes of tls_high connections; NULL where a chain's sizes are not known",
        "bytes",
    ),
    Column("round_trips", "INTEGER", "round trips of these handshakes: 2 for TCP and TLS 1.3, 1 for QUIC"),
    *(
        Column(name, "INTEGER", f"of what might narrow the range: {what} the recording lacks; NULL for planned", unit)
        for name, what, unit in (
            ("lacks_answers", "hosts whose DNS answers", "hosts"),
            ("lacks_certificates", "hosts the names of whose certificates", "hosts"),
            ("lacks_credentials", "requests of which whether they were sent with credentials", "requests"),
        )
    ),
)

PREDICTIONS_CHECK = table(
    "predictions_check",
    Stage.MODELLED,
    "visit_id protocol",
    "The back-test: the connections that the rules of the browser which was recorded predict for each page, against "
    "those that it used. The rules do not see which requests shared a connection, nor, where the recording has DNS "
    "answers of a host, the address that its requests were sent to. Requests of unknown connections "
    "are left out on both sides. There are no rows of pages whose connections are not known, of other browsers, and of "
    "pages with more than 1,000 hosts or connections. The sums over a page's rows are in checked_pages.",
    VISIT_ID,
    Column("protocol", "VARCHAR", "h1, h2, h3, or unknown: what the recording has the requests sent by"),
    Column("browser", "VARCHAR", "chromium or firefox: whose build was recorded, and whose rules are applied"),
    Column(
        "rules_version",
        "VARCHAR",
        "the version whose rules are applied: of those that were observed the nearest that is not newer than the "
        "recorded one, else the oldest; the newest where the recording does not say its version",
    ),
    Column("tls_low", "INTEGER", "predicted, at least", "connections"),
    Column("tls_likely", "INTEGER", "predicted, most likely", "connections"),
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
    "The names that each page requested, and where each browser exposes them; exposures is a view of this table.",
    VISIT_ID,
    Column("host", "VARCHAR", "the name"),
    Column("measured_dns", "BOOLEAN", "it was looked up; NULL where the recorder cannot know"),
    Column("measured_sni", "BOOLEAN", "a handshake was made for it"),
    Column("dns_clear", "BOOLEAN", "it was looked up over plain DNS; NULL where the recorder does not say how"),
    Column("sni_clear", "BOOLEAN", "a handshake had no Encrypted Client Hello; NULL where the recorder does not say"),
    Column("ech_offered", "BOOLEAN", "its HTTPS record has keys for Encrypted Client Hello; NULL where not queried"),
    Column("chromium_sni_clear", "BOOLEAN", "Chromium with plain DNS would send it in the clear in a handshake"),
    Column("firefox_sni_clear", "BOOLEAN", "Firefox with plain DNS would send it in the clear in a handshake"),
    *(
        Column(f"{model}_{channel}", "BOOLEAN", f"sent in {channel} by the model {model}; NULL where that is not known")
        for model in (*_MODELS, "best_case")
        for channel in ("dns", "sni")
    ),
    Column("chromium_cookies_blocked_dns", "BOOLEAN", "chromium_dns, with third-party cookies blocked"),
)


PAGE_ADDRESSES = table(
    "page_addresses",
    Stage.MODELLED,
    "visit_id ip",
    "The addresses that each page connects to, measured and by each browser's rules. exposures is a view of it.",
    VISIT_ID,
    Column("ip", "VARCHAR", "the address"),
    Column("measured", "BOOLEAN", "the page connected to it"),
    *(
        Column(
            model,
            "BOOLEAN",
            f"the model {model} connects to it; NULL where that is not known",
        )
        for model in (*_MODELS, "best_case")
    ),
)


def _exposure_columns() -> str:
    ways = [
        ("dns", "dns_clear", "measured_dns", "measured"),
        ("sni", "sni_clear", "measured_sni", "measured"),
        ("dns", "dns_clear", "best_case_dns", "best_case"),
        ("sni", "coalesce(sni_clear, chromium_sni_clear)", "best_case_sni", "best_case"),
        *(("dns", "dns_clear", f"{model}_dns", model) for model in _MODELS),
        *(("sni", f"{model.rpartition('_')[2]}_sni_clear", f"{model}_sni", model) for model in _MODELS),
    ]
    parts = [
        f"SELECT visit_id, host, '{channel}' AS channel, CASE WHEN {sent} THEN {clear} END AS clear, "  # noqa: S608 - from here
        f"'{model}' AS model FROM page_names WHERE {sent} IS DISTINCT FROM false"
        for channel, clear, sent, model in ways
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
    "The names of a page that an observer on the path can see: in DNS, in the server name of handshakes, and as IP "
    "addresses.",
    VISIT_ID,
    Column("host", "VARCHAR", "the name; for channel ip the address"),
    Column("channel", "VARCHAR", "dns, sni or ip"),
    Column(
        "clear",
        "BOOLEAN",
        "readable on the path: plain DNS, a handshake without Encrypted Client Hello, any address; NULL where it is "
        "not known whether it is sent, or whether it is readable",
    ),
    Column("model", "VARCHAR", "measured, chromium, firefox, planned_chromium, planned_firefox or best_case"),
    view=_exposure_columns(),
)
