"""The tables that models fill."""

from __future__ import annotations

from originset.data.schema.browser_tables import BROWSER_COUNTS
from originset.data.schema.columns import VISIT_ID, Column, Stage, table

QUESTIONS = ("connections", "browsers", "causes", "lookups", "servers", "load_times", "certificates")

PAGE_BASIS = table(
    "page_basis",
    Stage.MODELLED,
    "visit_id question",
    "Which visits count for which question, and why the others do not.",
    VISIT_ID,
    Column(
        "question",
        "VARCHAR",
        "connections (how many TLS connections, and how many at best), browsers (how many by the browsers' rules), "
        "causes (why the redundant ones were opened), lookups (how many DNS lookups), servers (in how many networks "
        "the page's servers are), load_times (measured and modelled) or certificates (which names they lack)",
    ),
    Column("counted", "BOOLEAN", "the visit counts for the question"),
    Column("reason", "VARCHAR", "why it does not, the first reason that applies: it was ...; NULL if it counts"),
)

DOCUMENTS = table(
    "documents",
    Stage.MODELLED,
    "visit_id",
    "The document of each visit of which one came over the network: the first response that is no redirect and has the "
    "visit's final URL; without such a URL the first of type document; without types the first.",
    VISIT_ID,
    Column("request_id", "INTEGER", "the request that it answered"),
    Column("host", "VARCHAR", "its host"),
    Column("secure", "BOOLEAN", "it came over https"),
    Column("server_ip", "VARCHAR", "the server's address"),
    Column("asn", "BIGINT", "the AS of this address"),
    Column("connection_id", "BIGINT", "its connection"),
    Column("certificate_id", "VARCHAR", "the leaf certificate shown on that connection; NULL where not recorded"),
)

COLOCATION_EVIDENCE = table(
    "colocation_evidence",
    Stage.MODELLED,
    "host_a host_b kind",
    "Why one server may be able to answer for two hosts that some page asked for, or why not. Levels 0 and 1 are told "
    "only of the host of a page's document and the page's others. Pages with more than 1,000 hosts or connections tell "
    "nothing here.",
    Column("host_a", "VARCHAR", "the host that comes first in the alphabet"),
    Column("host_b", "VARCHAR", "the other"),
    Column(
        "level",
        "INTEGER",
        "0 same AS, 1 same organisation, or one owner on different machines, 2 same edge or address, 3 the same and a "
        "certificate for both, 4 tested (answered, no 421), 5 seen coalesced",
    ),
    Column(
        "kind",
        "VARCHAR",
        "same_as (0), same_organisation (1), one_owner (1: one registrable domain, or a certificate for both that one "
        "presented), same_edge or shared_address (2), certificate (3: such a certificate, and one edge or address), "
        "coalesced (5); misdirected speaks against. coalesced_with_errors (0) is a note: one connection carried both, "
        "but for one it shows only errors that the host's own do not give. Tests of live servers (4) are made by "
        "check, and leave no rows in a study",
    ),
    Column("contradicts", "BOOLEAN", "a server of one answered 421 for the other: nothing is proposed between them"),
    Column("source", "VARCHAR", "what was seen: an address, a certificate, a provider, a connection of a visit"),
    Column("observed_at", "TIMESTAMP", "when that was last seen, UTC"),
)

# What browsers would save, by models.browsers.savings.
SAVINGS = tuple(
    Column(f"connections_saved_{browser}", "BIGINT", f"{meaning}; NULL where that is not one number", "connections")
    for browser, meaning in (
        (
            "chromium",
            "the same by Chromium's rules, which heed no ORIGIN frame over HTTP/2: by addresses alone",
        ),
        ("chromium_h3", "the same with HTTP/3 in place of HTTP/2, where Chromium heeds ORIGIN frames"),
        ("firefox", "the same by Firefox's rules, which heed ORIGIN frames over HTTP/2 alone"),
    )
)

PAGE_COUNTS = table(
    "page_counts",
    Stage.MODELLED,
    "visit_id",
    "Connections and lookups of a page, measured and at best.",
    VISIT_ID,
    Column("hosts", "INTEGER", "distinct hosts with a known address"),
    Column("requests", "INTEGER", "requests that reached the network"),
    Column("measured_dns", "INTEGER", "lookups made for the page", "lookups"),
    Column("dns_basis", "VARCHAR", "resolver_jobs (capture) or dns_phases (HAR entries with one, as the paper)"),
    Column("wire_dns", "INTEGER", "queries sent: A, AAAA and HTTPS are three", "queries"),
    Column("paired_dns", "INTEGER", "hosts of its network requests that were looked up for it", "hosts"),
    Column("repeated_dns", "INTEGER", "of measured_dns, lookups of such a host beyond its first", "lookups"),
    Column("unused_dns", "INTEGER", "of measured_dns, those of names that no network request went to", "lookups"),
    Column(
        "paired_ideal_ip_dns",
        "INTEGER",
        "distinct addresses of the hosts of paired_dns, each at its first request; NULL where one is not known",
        "lookups",
    ),
    Column("paired_ideal_origin_dns", "INTEGER", "distinct ASes likewise", "lookups"),
    Column(
        "paired_chromium_dns",
        "INTEGER",
        "of the hosts of paired_dns those that Chromium looks up with servers as they are; NULL where not known of one",
        "lookups",
    ),
    Column(
        "paired_chromium_cookies_blocked_dns",
        "INTEGER",
        "Chromium likewise, with third-party cookies blocked",
        "lookups",
    ),
    Column("paired_firefox_dns", "INTEGER", "Firefox likewise", "lookups"),
    Column("measured_tls", "INTEGER", "TLS connections that carried at least one request", "connections"),
    Column("opened_tls", "INTEGER", "completed TLS handshakes, speculative ones included", "connections"),
    Column(
        "without_duplicates",
        "INTEGER",
        "measured_tls less those whose hosts all had an earlier one",
        "connections",
    ),
    Column("ideal_ip", "INTEGER", "the paper's IP coalescing: distinct server addresses", "connections"),
    Column(
        "ideal_origin",
        "INTEGER",
        "the paper's ORIGIN coalescing: distinct ASes (or other keys)",
        "connections",
    ),
    Column(
        "ideal_edge",
        "INTEGER",
        "ideal_origin, less merges of hosts that no evidence of level 2 or more connects; NULL for a page with more "
        "than 1,000 hosts or connections",
        "connections",
    ),
    Column("ideal_deployable", "INTEGER", "the same with evidence of level 3 or more", "connections"),
    Column(
        "ideal_owner",
        "INTEGER",
        "ideal_edge, less merges of hosts of one owner on different machines (one_owner)",
        "connections",
    ),
    Column("paired_ideal_ip", "INTEGER", "ideal_ip over the requests that measured_tls counts", "connections"),
    Column(
        "paired_ideal_origin",
        "INTEGER",
        "ideal_origin over the requests that measured_tls counts",
        "connections",
    ),
    Column(
        "paired_ideal_edge",
        "INTEGER",
        "ideal_edge over the requests that measured_tls counts; each origin at its first connection, that stays one",
        "connections",
    ),
    Column(
        "paired_ideal_deployable",
        "INTEGER",
        "ideal_deployable likewise",
        "connections",
    ),
    Column("paired_ideal_owner", "INTEGER", "ideal_owner likewise", "connections"),
    Column("without_asn", "INTEGER", "addresses of the page in no known AS, each counted as its own"),
    Column(
        "without_key",
        "INTEGER",
        "addresses of the page without what makes servers one (model --colocation), each its own",
    ),
    *BROWSER_COUNTS,
    Column("left_out", "INTEGER", "requests that reached the network without a known address", "requests"),
)

SITE_CERTIFICATES = table(
    "site_certificates",
    Stage.MODELLED,
    "site",
    "What the paper's ideal does to each site's own certificate, over all its visits.",
    Column("site", "VARCHAR", "the site"),
    Column("certificate_id", "VARCHAR", "leaf of the site's document; NULL where not recorded"),
    Column("existing_names", "INTEGER", "names in it"),
    Column("ideal_names", "INTEGER", "existing names plus additions"),
    Column("additions", "INTEGER", "hosts in the site's AS that it does not cover"),
    Column(
        "deployable_additions",
        "INTEGER",
        "of these, names of the site's registrable domain with evidence of level 2 or more, and others with 3 or more",
    ),
    Column("visits", "INTEGER", "visits that this rests on"),
    Column("vantages", "INTEGER", "vantages that this rests on"),
)

CERTIFICATE_ADDITIONS = table(
    "certificate_additions",
    Stage.MODELLED,
    "site name",
    "Names missing from a site's certificate by the paper's rule.",
    Column("site", "VARCHAR", "the site"),
    Column("name", "VARCHAR", "the missing host"),
    Column("certificate_id", "VARCHAR", "the site's certificate"),
    Column("rank", "INTEGER", "order of worth within the site, from 1"),
    Column("level", "INTEGER", "evidence that one server can answer for both: 0 same AS ... 5 seen coalesced"),
    Column("same_owner", "BOOLEAN", "site and name share a registrable domain"),
    Column(
        "connections_saved_paper",
        "INTEGER",
        "connections to it, over the site's visits, that the paper's ideal saves",
    ),
    *SAVINGS,
    Column(
        "validatable_by",
        "VARCHAR",
        "who can prove to a CA that the name is theirs: site (same registrable domain), provider (the name is on the "
        "site's edge: evidence of level 2 or more) or nobody_known",
    ),
    Column(
        "blocked_reason",
        "VARCHAR",
        "why the name should go on lacking: misdirected (some server answered 421 for it), not_a_name (no CA takes "
        "it), multi_cdn (it is on another edge at times); NULL where nothing is known against it",
    ),
)

ORIGIN_SETS = table(
    "origin_sets",
    Stage.MODELLED,
    "site server host",
    "Hosts that each site's server could announce in an ORIGIN frame.",
    Column("site", "VARCHAR", "the site"),
    Column("server", "VARCHAR", "the host of the site's document: the server that would send the frame"),
    Column("host", "VARCHAR", "a host in the same AS; the server itself included"),
    Column("port", "INTEGER", "the host's port"),
    Column("asn", "BIGINT", "the AS that both are in"),
    Column("level", "INTEGER", "evidence that one server can answer for both: 0 same AS ... 5 seen coalesced"),
    Column(
        "covered_by_certificate", "BOOLEAN", "the server's certificate covers it; NULL where its names are not known"
    ),
    Column("misdirected", "BOOLEAN", "some server answered 421 for this host: not to be announced"),
    Column("requests", "BIGINT", "requests to it, over the site's visits"),
    Column("visits", "INTEGER", "visits that asked for it"),
    Column("seen_share", "DOUBLE", "visits / the site's visits"),
    Column(
        "connections_saved_firefox",
        "BIGINT",
        "connections to it, over the site's visits, that Firefox does without once it is announced over HTTP/2; NULL "
        "where that is not one number, or it is not known whether the certificate covers it",
        "connections",
    ),
)

PROVIDER_CHANGES = table(
    "provider_changes",
    Stage.MODELLED,
    "provider asn name",
    "The names that save most if a provider adds them to the certificates of all its sites, up to 10 for each.",
    Column("provider", "VARCHAR", "name of the AS that the sites are in, or what was taken for one server instead"),
    Column("asn", "BIGINT", "the AS; NULL where the provider is not one AS"),
    Column("name", "VARCHAR", "the name to add"),
    Column("rank", "INTEGER", "order in which to add them, from 1"),
    Column("sites", "INTEGER", "the provider's sites that asked for it and whose certificate lacks it"),
    Column(
        "connections_saved_paper",
        "BIGINT",
        "connections that go away with this name and those before it, less those that go away without it",
        "connections",
    ),
    Column(
        "connections_saved_at_most",
        "BIGINT",
        "what no set of so many names saves more than; the names up to this one are proved best if they save as much",
        "connections",
    ),
    *SAVINGS,
    Column("connections", "BIGINT", "what all names together save at this provider", "connections"),
)

MODEL_SENSITIVITY = table(
    "model_sensitivity",
    Stage.MODELLED,
    "vantage browser parameter value",
    "The results with one choice of the model changed at a time, of landing pages; filled by originset study model "
    "--sensitivity. Numbers are of each site's average page.",
    Column("vantage", "VARCHAR", "the vantage; each stands by itself"),
    Column("browser", "VARCHAR", "the browser; each stands by itself"),
    Column("parameter", "VARCHAR", "the choice: colocation, wildcards, coverage, predecessor, ..."),
    Column("value", "VARCHAR", "what was chosen"),
    Column("chosen", "BOOLEAN", "as in this study's other tables"),
    Column("pages", "BIGINT", "pages counted for connections (page_basis)"),
    Column("median_measured_tls", "DOUBLE", "their TLS connections, median", "connections"),
    Column("median_ideal_origin", "DOUBLE", "their ORIGIN ideal, median", "connections"),
    Column("connections_saved", "DOUBLE", "measured less ideal, over their sites", "connections"),
    Column(
        "connections_saved_deployable",
        "DOUBLE",
        "measured less paired_ideal_deployable, over their sites",
        "connections",
    ),
    Column("sites_unchanged_pct", "DOUBLE", "sites whose certificate needs no addition", "percent of known"),
    Column("additions", "BIGINT", "names missing from certificates, over all sites", "names"),
    Column("timelines", "BIGINT", "pages counted for load times (page_basis)"),
    Column("median_load_ms", "DOUBLE", "their load event as measured, median", "ms"),
    Column("median_origin_ms", "DOUBLE", "their load event under ORIGIN coalescing, median", "ms"),
    Column("load_saved_ms", "DOUBLE", "measured less modelled load events, over their sites", "ms"),
)

PAGE_LOAD_TIMES = table(
    "page_load_times",
    Stage.MODELLED,
    "visit_id",
    "When pages would have loaded; models, not measurements. In the causal timeline nothing is sent before its "
    "connection is established, and only requests over TLS open one that others use; the paper's asks for neither.",
    VISIT_ID,
    Column("measured_ms", "DOUBLE", "load event as recorded", "ms"),
    Column("ip_ms", "DOUBLE", "modelled under IP coalescing, by the causal timeline", "ms"),
    Column("origin_ms", "DOUBLE", "modelled under ORIGIN coalescing, by the causal timeline", "ms"),
    Column("provider_ms", "DOUBLE", "modelled if one provider alone coalesces; NULL without a provider", "ms"),
    Column("paper_ip_ms", "DOUBLE", "ip_ms by the paper's timeline", "ms"),
    Column("paper_origin_ms", "DOUBLE", "origin_ms by the paper's timeline", "ms"),
    Column("paper_provider_ms", "DOUBLE", "provider_ms by the paper's timeline", "ms"),
    Column("left_out_reason", "VARCHAR", "why the page could not be modelled"),
)
