"""The schema of a study, in one place: tables, columns, types, keys, units, descriptions.

DDL and COMMENTs (:mod:`originset.data.database`), the Parquet shards (:mod:`originset.data.shards`) and docs/schema.md
(:mod:`originset.data.schema_page`) are made from it. Conventions: NULL is "not known", 0 is zero; times are
milliseconds (DOUBLE), ``*_ms`` within a visit counts from the visit's first request; timestamps are UTC.
"""

from __future__ import annotations

from originset.data.columns import VISIT_ID, Column, Stage, Table, polars_type, table
from originset.data.schema_browsers import (
    BROWSER_COUNTS,
    BROWSER_PREDICTIONS,
    EXPOSURES,
    PAGE_ADDRESSES,
    PAGE_NAMES,
    REDUNDANT_CONNECTIONS,
)
from originset.data.schema_modelled import (
    CERTIFICATE_ADDITIONS,
    COLOCATION_EVIDENCE,
    DOCUMENTS,
    MODEL_SENSITIVITY,
    ORIGIN_SETS,
    PAGE_BASIS,
    PAGE_COUNTS,
    PAGE_LOAD_TIMES,
    PROVIDER_CHANGES,
    SITE_CERTIFICATES,
)
from originset.data.views import view

__all__ = [
    "ADDRESSES",
    "BASIS_SUMMARY",
    "BROWSER_COUNTS",
    "BROWSER_PREDICTIONS",
    "CERTIFICATES",
    "CERTIFICATE_ADDITIONS",
    "CERTIFICATE_NAMES",
    "COLOCATION_EVIDENCE",
    "CONNECTIONS",
    "COUNTED_VISITS",
    "DNS_QUERIES",
    "DOCUMENTS",
    "EXPOSURES",
    "HOSTS",
    "LIVE_HANDSHAKES",
    "MODEL_SENSITIVITY",
    "NETWORK_REQUESTS",
    "ORIGIN_SETS",
    "PAGE_ADDRESSES",
    "PAGE_BASIS",
    "PAGE_COUNTS",
    "PAGE_LOAD_TIMES",
    "PAGE_NAMES",
    "PROVIDERS",
    "PROVIDER_CHANGES",
    "REDUNDANT_CONNECTIONS",
    "REJECTS",
    "REQUESTS",
    "RUNS",
    "SELECTED_VISITS",
    "SITE_CERTIFICATES",
    "TABLES",
    "VANTAGES",
    "VISITS",
    "Column",
    "Stage",
    "Table",
    "polars_type",
]

VISITS = table(
    "visits",
    Stage.ROWS,
    "visit_id",
    "One row per page load: a crawled visit, or a page of an imported HAR.",
    VISIT_ID,
    Column("site", "VARCHAR", "the site list's entry, or the host of the page's document"),
    Column("rank", "INTEGER", "the site's rank in its list"),
    Column("url", "VARCHAR", "the address that was asked for"),
    Column("final_url", "VARCHAR", "the document's address after redirects"),
    Column("started_at", "TIMESTAMP", "when the visit began, UTC"),
    Column("status", "VARCHAR", "ok, partial (cut off, what was seen is kept) or failed"),
    Column("error", "VARCHAR", "what kind of failure: dns, connect, tls, http, timeout, crash, ..."),
    Column("error_code", "VARCHAR", "the browser's own code for it, such as net::ERR_NAME_NOT_RESOLVED"),
    Column("source", "VARCHAR", "crawl, or the path within what was imported"),
    Column("source_sha256", "VARCHAR", "SHA-256 of the imported file; NULL for a crawl"),
    Column("recorder", "VARCHAR", "what wrote the HAR: originset, chrome-devtools, chrome-har, webpagetest, ..."),
    Column("recorder_version", "VARCHAR", "the version it gave itself"),
    Column("browser", "VARCHAR", "chromium, firefox, safari, ..."),
    Column("browser_version", "VARCHAR", "the browser's version"),
    Column("vantage", "VARCHAR", "the name of the place the crawl ran from"),
    Column("vantage_ip", "VARCHAR", "the address that this place is seen by, where the crawl was told"),
    Column("round", "INTEGER", "the crawl's round, counted from 1"),
    Column("repeat", "INTEGER", "the repetition within a round, counted from 1"),
    Column("page_kind", "VARCHAR", "landing or internal"),
    Column("profile", "VARCHAR", "the named set of crawl settings"),
    Column("third_party_cookies", "VARCHAR", "allowed or blocked; blocked keeps Chromium from coalescing across sites"),
    Column("ip_families", "VARCHAR", "address families that the browser had a way to: 4, 6 or both"),
    Column("consent_banner", "VARCHAR", "a known consent platform's banner: seen, accepted (clicked), none or unknown"),
    Column("challenge", "BOOLEAN", "a bot challenge came in place of the page; status is then failed"),
    Column("user_agent", "VARCHAR", "what the browser called itself to the site"),
    Column("viewport", "VARCHAR", "WIDTHxHEIGHT that the page was laid out in [CSS pixels]"),
    Column("quality", "VARCHAR[]", "what limits this recording: warm_start, cached_hosts, proxied, truncated, ..."),
    Column("load_ms", "DOUBLE", "load event", "ms"),
    Column("dom_content_loaded_ms", "DOUBLE", "DOMContentLoaded event", "ms"),
    needed="site status error error_code source source_sha256 quality",
)

REQUESTS = table(
    "requests",
    Stage.ROWS,
    "visit_id request_id",
    "One row per HAR entry, none dropped.",
    VISIT_ID,
    Column("request_id", "INTEGER", "order of start within the visit, from 0"),
    Column("url", "VARCHAR", "without fragment, user information and secrets"),
    Column("scheme", "VARCHAR", "https, http, wss, ws, data, blob, ..."),
    Column("host", "VARCHAR", "lower-case A-label or bare IP literal"),
    Column("port", "INTEGER", "given or the scheme's default"),
    Column("method", "VARCHAR", "HTTP method"),
    Column("protocol", "VARCHAR", "http/1.0, http/1.1, h2, h3 or other"),
    Column("protocol_raw", "VARCHAR", "as the recorder spelt it"),
    Column("status", "INTEGER", "HTTP status; NULL where there was no response"),
    Column("error", "VARCHAR", "the browser's code where the request failed"),
    Column("mime_type", "VARCHAR", "content type without parameters, lower-case"),
    Column("resource_type", "VARCHAR", "document, script, stylesheet, image, font, xhr, fetch, ..."),
    Column("initiator_id", "INTEGER", "request_id of the request that caused this one"),
    Column("frame_site", "VARCHAR", "registrable domain of the frame that asked"),
    Column("credentials", "VARCHAR", "include, omit or unknown: Fetch's credentials flag, as the pool saw it"),
    Column("from_cache", "BOOLEAN", "answered without the network: cache or service worker"),
    Column("connection_id", "BIGINT", "connection within the visit"),
    Column("connection_source", "VARCHAR", "netlog, har (the recorder's id) or inferred"),
    Column("server_ip", "VARCHAR", "address of the server, canonical text, no brackets or zone"),
    Column("started_ms", "DOUBLE", "start, from the visit's first request", "ms"),
    Column("blocked_ms", "DOUBLE", "queued, waiting for a connection", "ms"),
    Column("dns_ms", "DOUBLE", "DNS phase; NULL where there was none", "ms"),
    Column("connect_ms", "DOUBLE", "connect phase, TLS included; NULL where there was none", "ms"),
    Column("ssl_ms", "DOUBLE", "TLS part of connect", "ms"),
    Column("send_ms", "DOUBLE", "sending the request", "ms"),
    Column("wait_ms", "DOUBLE", "waiting for the first byte", "ms"),
    Column("receive_ms", "DOUBLE", "receiving the response", "ms"),
    Column("bytes", "BIGINT", "response as transferred, headers included", "bytes"),
    needed="scheme host port protocol status error from_cache connection_id server_ip started_ms "
    "blocked_ms dns_ms connect_ms ssl_ms send_ms wait_ms receive_ms",
)

NETWORK_REQUESTS = view(
    "network_requests",
    "visit_id request_id",
    *REQUESTS.columns,
    Column("secure", "BOOLEAN", "over https or wss"),
    Column("connection_known", "BOOLEAN", "the recorder gave the connection's id, which was not inferred"),
)

_VISIT = (
    Column("vantage", "VARCHAR", "its vantage"),
    Column("browser", "VARCHAR", "its browser"),
    Column("site", "VARCHAR", "its site; the visit itself where it has none"),
    Column("page", "VARCHAR", "its page: the URL that was asked for, else the document's"),
)

SELECTED_VISITS = view(
    "selected_visits",
    "visit_id",
    VISIT_ID,
    *_VISIT,
    Column("page_kind", "VARCHAR", "landing or internal"),
    Column("rank", "INTEGER", "the site's rank in its list"),
)

_QUESTION = Column("question", "VARCHAR", "as in page_basis")

COUNTED_VISITS = view(
    "counted_visits",
    "question visit_id",
    _QUESTION,
    VISIT_ID,
    *_VISIT,
    Column("rank", "INTEGER", "the site's rank in its list"),
    Column("weight", "DOUBLE", "its share of its site, from its vantage and browser"),
)

BASIS_SUMMARY = view(
    "basis_summary",
    "question vantage browser",
    _QUESTION,
    Column("vantage", "VARCHAR", "the vantage"),
    Column("browser", "VARCHAR", "the browser"),
    Column("sites", "BIGINT", "sites with a page that counts"),
    Column("pages", "BIGINT", "pages that count: a page counts if one of its visits does"),
    Column("visits", "BIGINT", "visits that count"),
    Column("left_out", "BIGINT", "pages of which no visit counts"),
    Column("left_out_why", "VARCHAR", "how many of these for which reason; NULL for none"),
)

CONNECTIONS = table(
    "connections",
    Stage.ROWS,
    "visit_id connection_id",
    "One row per connection; captures know every one, HARs only those that carried a request.",
    VISIT_ID,
    Column("connection_id", "BIGINT", "the recorder's id; within a visit one id is one connection"),
    Column("first_host", "VARCHAR", "the host it was opened for (TLS server name)"),
    Column("hosts", "VARCHAR[]", "hosts of the requests it carried, in order of first use"),
    Column("server_ip", "VARCHAR", "the connected address"),
    Column("port", "INTEGER", "the connected port"),
    Column("protocol", "VARCHAR", "http/1.1, h2, h3: what was negotiated or seen"),
    Column("tls", "BOOLEAN", "a TLS (or QUIC) handshake was completed on it"),
    Column("tls_version", "VARCHAR", "TLS 1.2, TLS 1.3, QUIC"),
    Column("resumed", "BOOLEAN", "the TLS session was resumed"),
    Column("ech", "BOOLEAN", "Encrypted Client Hello was accepted"),
    Column("certificate_id", "VARCHAR", "the leaf certificate"),
    Column("chain", "VARCHAR[]", "certificate ids as sent, leaf first; NULL where not known"),
    Column("verified_chain", "VARCHAR[]", "certificate ids as the browser completed the chain, up to the root"),
    Column("opened_ms", "DOUBLE", "start of the TCP or QUIC connect, from the visit's first request", "ms"),
    Column("established_ms", "DOUBLE", "end of the last handshake, likewise", "ms"),
    Column("closed_ms", "DOUBLE", "closing, likewise; NULL where it outlived the visit", "ms"),
    Column("used", "BOOLEAN", "carried at least one request of the page"),
    Column("privacy_mode", "VARCHAR", "Chromium's pool key: disabled (credentials), enabled, ..."),
    Column("partition_key", "VARCHAR", "Chromium's network anonymization key"),
    Column("origin_set", "VARCHAR[]", "origins received in an ORIGIN frame"),
    Column("origin_ms", "DOUBLE", "when the first ORIGIN frame came, likewise; NULL with a set: with SETTINGS", "ms"),
    Column("misdirected", "VARCHAR[]", "hosts for which it answered 421; NULL where the recorder cannot know"),
    Column("pooled_by_ip", "VARCHAR[]", "hosts that joined it as their addresses lead to it; NULL: unknown"),
    Column("pooled_by_origin", "VARCHAR[]", "hosts that joined it as its ORIGIN frame lists them; NULL: unknown"),
    Column("source", "VARCHAR", "netlog, har (the recorder's ids) or inferred (WebPageTest's sockets)"),
    needed="first_host hosts server_ip port tls certificate_id opened_ms "
    "established_ms closed_ms used origin_ms source",
)

DNS_QUERIES = table(
    "dns_queries",
    Stage.ROWS,
    "",
    "One row per name and record type asked for in a lookup.",
    VISIT_ID,
    Column("lookup_id", "INTEGER", "the browser's resolver job within the visit; A, AAAA and HTTPS share one"),
    Column("host", "VARCHAR", "the name asked for, lower-case A-label"),
    Column("rtype", "VARCHAR", "A, AAAA, HTTPS"),
    Column("status", "VARCHAR", "NOERROR, NODATA, NXDOMAIN, SERVFAIL, TIMEOUT, ..."),
    Column("answers", "VARCHAR[]", "addresses or parameters, in the order answered"),
    Column("cname_chain", "VARCHAR[]", "aliases followed, in order"),
    Column("ttl", "INTEGER", "smallest TTL of the answer", "s"),
    Column("attempts", "INTEGER", "queries sent on the wire; 0 if answered without one"),
    Column("cache_hits", "INTEGER", "later requests for the name that the browser's cache answered; NULL: unknown"),
    Column("source", "VARCHAR", "browser, cache (the browser's, without any lookup), resolver or live"),
    Column("resolver", "VARCHAR", "the resolver asked, where named"),
    Column("asked_ms", "DOUBLE", "from the visit's first request; of source live, the recording's age", "ms"),
    Column("took_ms", "DOUBLE", "from the question to its answer, or to giving up", "ms"),
    needed="visit_id lookup_id host rtype status answers attempts source",
)

CERTIFICATES = table(
    "certificates",
    Stage.ROWS,
    "certificate_id",
    "One row per distinct certificate.",
    Column("certificate_id", "VARCHAR", "SHA-256 of the DER, hex; else of the known fields, prefixed fields-"),
    Column("subject", "VARCHAR", "subject's distinguished name, as RFC 4514 writes it"),
    Column("subject_cn", "VARCHAR", "subject's common name"),
    Column("issuer_cn", "VARCHAR", "issuer's common name"),
    Column("issuer_org", "VARCHAR", "issuer's organisation"),
    Column("not_before", "TIMESTAMP", "valid from, UTC"),
    Column("not_after", "TIMESTAMP", "valid until, UTC"),
    Column("key_type", "VARCHAR", "RSA-2048, EC-P256, ..."),
    Column("signature", "VARCHAR", "how it was signed: sha256WithRSAEncryption, ..."),
    Column("san_count", "INTEGER", "subject alternative names; NULL where the recorder does not give them"),
    Column("der_bytes", "INTEGER", "size of the certificate", "bytes"),
    Column("sct_count", "INTEGER", "signed certificate timestamps in it"),
    Column("self_signed", "BOOLEAN", "subject and issuer are one, and its own key verifies its signature"),
    Column("chain", "VARCHAR[]", "certificate ids as sent, leaf first"),
    Column(
        "chain_problem",
        "VARCHAR",
        "what is wrong with the chain as sent: unreadable, gap (the issuer is missing), order, stranger (one too many)",
    ),
    Column("problem", "VARCHAR", "why it could not be read in full"),
    needed="san_count chain_problem problem",
)

CERTIFICATE_NAMES = table(
    "certificate_names",
    Stage.ROWS,
    "certificate_id name",
    "One row per subject alternative name.",
    Column("certificate_id", "VARCHAR", "the certificate"),
    Column("name", "VARCHAR", "lower-case A-label, wildcard label included; IP SANs as canonical text"),
    Column("wildcard", "BOOLEAN", "the left-most label is *"),
    needed="wildcard",
)

LIVE_HANDSHAKES = table(
    "live_handshakes",
    Stage.ROWS,
    "visit_id host server_ip port",
    "Handshakes made after the recording, for hosts of which it lacks the certificate: enrich --live.",
    VISIT_ID,
    Column("host", "VARCHAR", "the host, and the server name that was sent"),
    Column("server_ip", "VARCHAR", "the contacted address; NULL where the name led to none"),
    Column("port", "INTEGER", "the contacted port"),
    Column("recorded", "BOOLEAN", "the address is the recording's; else it is today's"),
    Column(
        "address_changed", "BOOLEAN", "today's answers do not have the recorded address; NULL where one is not known"
    ),
    Column("certificate_id", "VARCHAR", "the leaf, of a server that proved to be the host's"),
    Column("protocol", "VARCHAR", "h2 or http/1.1, as negotiated"),
    Column("tls_version", "VARCHAR", "TLS 1.2, TLS 1.3"),
    Column("asked_at", "TIMESTAMP", "when, UTC; NULL where nothing was contacted"),
    Column("problem", "VARCHAR", "why there was no handshake, or no trust"),
    needed="recorded certificate_id asked_at problem",
)

REJECTS = table(
    "rejects",
    Stage.ROWS,
    "source",
    "Inputs that were refused, and the ends of those that were cut off.",
    Column("source", "VARCHAR", "path within what was imported"),
    Column("reason", "VARCHAR", "a short code: not-json, not-har, empty, truncated, ..."),
    Column("detail", "VARCHAR", "a sentence"),
    Column("byte_offset", "BIGINT", "where reading stopped"),
    needed="reason",
)

HOSTS = table(
    "hosts",
    Stage.RESOLVED,
    "host",
    "One row per host name of the study.",
    Column("host", "VARCHAR", "lower-case A-label or IP literal"),
    Column("registrable_domain", "VARCHAR", "public suffix (ICANN and private) plus one label; NULL for an IP"),
    Column("edge", "VARCHAR", "the provider whose edge serves it; NULL where none is known, or where it has several"),
    Column("edges", "VARCHAR[]", "every provider whose edge was seen to serve it, in alphabetical order"),
    Column(
        "multi_cdn",
        "BOOLEAN",
        "its aliases or addresses lead to several providers, or to one and elsewhere, by vantage or round",
    ),
)

PROVIDERS = table(
    "providers",
    Stage.RESOLVED,
    "provider",
    "Providers of shared edges: what is public about them, each with its source. The program carries the table.",
    Column("provider", "VARCHAR", "name"),
    Column("asns", "BIGINT[]", "its ASes"),
    Column(
        "network_is_edge", "BOOLEAN", "an address in these ASes is an edge server; false where customers' own are too"
    ),
    Column("cname_zones", "VARCHAR[]", "zones that customers' aliases point into"),
    Column("misdirected_policy", "VARCHAR", "when it answers 421; NULL where nothing public says so"),
    Column("account_rule", "VARCHAR", "which names can be served together; NULL where nothing public says so"),
    Column("name_limit", "INTEGER", "names that one certificate or configuration can hold, by default", "names"),
    Column("source", "VARCHAR[]", "where this is said"),
    Column("dated", "VARCHAR", "when that was read"),
)

ADDRESSES = table(
    "addresses",
    Stage.RESOLVED,
    "ip",
    "One row per server address of the study, and per address of a vantage.",
    Column("ip", "VARCHAR", "canonical text"),
    Column("asn", "BIGINT", "origin AS; the lowest number of a multi-origin prefix; NULL if not announced"),
    Column("asns", "BIGINT[]", "all origins of the covering prefix"),
    Column("as_name", "VARCHAR", "name of the AS"),
    Column("organisation", "VARCHAR", "who runs the AS: the provider of that name if it is one's, else by registry"),
    Column("kind", "VARCHAR", "public, private or bogon"),
)

VANTAGES = table(
    "vantages",
    Stage.RESOLVED,
    "vantage ip",
    "One row per place that crawls ran from and address that it is seen by.",
    Column("vantage", "VARCHAR", "its name"),
    Column("ip", "VARCHAR", "as the crawl was told; NULL where it was not"),
    Column("asn", "BIGINT", "AS of that address"),
    Column("as_name", "VARCHAR", "name of the AS"),
    Column("organisation", "VARCHAR", "who runs the AS"),
    Column("visits", "INTEGER", "visits made from there"),
)

RUNS = table(
    "runs",
    Stage.STUDY,
    "run_id",
    "One row per command that changed the study.",
    Column("run_id", "INTEGER", "order within the study, from 1"),
    Column("command", "VARCHAR", "crawl, import, analyze, model, ..."),
    Column("version", "VARCHAR", "originset's version"),
    Column("started_at", "TIMESTAMP", "UTC"),
    Column("ended_at", "TIMESTAMP", "UTC; NULL if it did not end"),
    Column("parameters", "VARCHAR", "JSON"),
    Column("counts", "VARCHAR", "JSON"),
)

TABLES: dict[str, Table] = {
    each.name: each
    for each in (
        VISITS,
        REQUESTS,
        CONNECTIONS,
        DNS_QUERIES,
        CERTIFICATES,
        CERTIFICATE_NAMES,
        LIVE_HANDSHAKES,
        HOSTS,
        ADDRESSES,
        PROVIDERS,
        VANTAGES,
        DOCUMENTS,
        COLOCATION_EVIDENCE,
        PAGE_COUNTS,
        PAGE_BASIS,
        REDUNDANT_CONNECTIONS,
        BROWSER_PREDICTIONS,
        PAGE_NAMES,
        PAGE_ADDRESSES,
        EXPOSURES,
        SITE_CERTIFICATES,
        CERTIFICATE_ADDITIONS,
        ORIGIN_SETS,
        PROVIDER_CHANGES,
        PAGE_LOAD_TIMES,
        MODEL_SENSITIVITY,
        REJECTS,
        NETWORK_REQUESTS,
        SELECTED_VISITS,
        COUNTED_VISITS,
        BASIS_SUMMARY,
        RUNS,
    )
}
