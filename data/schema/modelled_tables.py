"""The tables that models fill."""

from __future__ import annotations

from originset.data.schema.browser_tables import BROWSER_COUNTS
from originset.data.schema.columns import VISIT_ID, Column, Stage, table

PAGE_BASIS = table(
    "page_basis",
    Stage.MODELLED,
    "visit_id question",
    "Which visits count for which question, and why the others do not.",
    VISIT_ID,
    Column(
        "question",
        "VARCHAR",
        "connections (how many TLS connections, measured and at best), browsers (how many by the browsers' rules), "
        "causes (why redundant connections were opened), lookups (how many DNS lookups), servers (in how many networks "
        "the page's servers are), load_times (measured and modelled) or certificates (which names they lack)",
    ),
    Column("counted", "BOOLEAN", "the visit counts for the question"),
    Column("reason", "VARCHAR", "why the visit does not count: the first reason that applies; NULL if it counts"),
)

DOCUMENTS = table(
    "documents",
    Stage.MODELLED,
    "visit_id",
    "The document of each visit that loaded one over the network: the first response that is not a redirect and has "
    "the visit's final URL; if there is none, the first of type document; if there is none, the first of any type.",
    VISIT_ID,
    Column("request_id", "INTEGER", "the request that it answered"),
    Column("host", "VARCHAR", "its host"),
    Column("secure", "BOOLEAN", "it was loaded over https"),
    Column("server_ip", "VARCHAR", "the server's address"),
    Column("asn", "BIGINT", "the AS of this address"),
    Column("connection_id", "BIGINT", "its connection"),
    Column("certificate_id", "VARCHAR", "the leaf certificate presented on that connection; NULL where not recorded"),
)

COLOCATION_EVIDENCE = table(
    "colocation_evidence",
    Stage.MODELLED,
    "host_a host_b kind",
    "Evidence that one server can answer for two hosts of a page, or that it cannot. A pair has a row for each kind of "
    "evidence. Levels 0 and 1 are given only for pairs with the host of a page's document. Pages with more than 1,000 "
    "hosts or connections are left out.",
    Column("host_a", "VARCHAR", "the host that comes first in the alphabet"),
    Column("host_b", "VARCHAR", "the other"),
    Column(
        "level",
        "INTEGER",
        "0 same AS, 1 same organisation, or one owner on different machines, 2 same edge or address, 3 same edge or "
        "address and a certificate for both, 4 tested (answered, no 421), 5 seen coalesced",
    ),
    Column(
        "kind",
        "VARCHAR",
        "same_as (0), same_organisation (1), one_owner (1: one registrable domain, or a certificate that covers both "
        "and that a server of one presented), same_edge or shared_address (2), certificate (3: such a certificate, and "
        "one edge or address), coalesced (5), misdirected (0, contradicts), coalesced_with_errors (0: one connection "
        "carried both, but gave only errors for one of them that the host's own server does not give). check server "
        "tests live servers (4), but writes no rows in a study",
    ),
    Column("contradicts", "BOOLEAN", "a server of one answered 421 for the other; no plan puts them on one connection"),
    Column("source", "VARCHAR", "the shared AS, address, provider or certificate, or the connection and its visit"),
    Column("observed_at", "TIMESTAMP", "when this was last seen, UTC"),
)

# What browsers would save, by models.browsers.savings.
SAVINGS = tuple(
    Column(f"connections_saved_{browser}", "BIGINT", f"{meaning}; NULL where that is not one number", "connections")
    for browser, meaning in (
        (
            "chromium",
            "connections that Chromium saves over HTTP/2, where it ignores ORIGIN frames and coalesces by IP addresses",
        ),
        ("chromium_h3", "connections that Chromium saves over HTTP/3, where it obeys ORIGIN frames"),
        ("firefox", "connections that Firefox saves over HTTP/2, where it obeys ORIGIN frames"),
    )
)

PAGE_COUNTS = table(
    "page_counts",
    Stage.MODELLED,
    "visit_id",
    "The connections and lookups of each visit: measured, as browsers' rules predict them, and under each ideal.",
    VISIT_ID,
    Column("hosts", "INTEGER", "distinct hosts with a known address"),
    Column("requests", "INTEGER", "requests that reached the network"),
    Column("measured_dns", "INTEGER", "lookups made for the page", "lookups"),
    Column(
        "dns_basis",
        "VARCHAR",
        "what measured_dns counts: resolver_jobs (a capture) or dns_phases (HAR entries, the paper)",
    ),
    Column("wire_dns", "INTEGER", "queries sent: A, AAAA and HTTPS are three", "queries"),
    Column("paired_dns", "INTEGER", "hosts of the page's network requests that were looked up", "hosts"),
    Column("repeated_dns", "INTEGER", "of measured_dns, the lookups of such a host after its first", "lookups"),
    Column("unused_dns", "INTEGER", "of measured_dns, the lookups of names that no network request went to", "lookups"),
    Column(
        "paired_ideal_ip_dns",
        "INTEGER",
        "distinct server addresses of the first requests to the hosts of paired_dns; NULL where one is not known",
        "lookups",
    ),
    Column("paired_ideal_origin_dns", "INTEGER", "distinct ASes of these addresses; NULL likewise", "lookups"),
    Column(
        "paired_chromium_dns",
        "INTEGER",
        "hosts of paired_dns that Chromium looks up with servers as they are; NULL where that is not known for one",
        "lookups",
    ),
    Column(
        "paired_chromium_cookies_blocked_dns",
        "INTEGER",
        "hosts of paired_dns that Chromium looks up with third-party cookies blocked; NULL likewise",
        "lookups",
    ),
    Column("paired_firefox_dns", "INTEGER", "hosts of paired_dns that Firefox looks up; NULL likewise", "lookups"),
    Column("measured_tls", "INTEGER", "TLS connections that carried at least one request", "connections"),
    Column("opened_tls", "INTEGER", "completed TLS handshakes, speculative ones included", "connections"),
    Column(
        "without_duplicates",
        "INTEGER",
        "measured_tls without the connections whose hosts all had an earlier connection",
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
        "ideal_origin, but hosts merge only if evidence of level 2 or more connects them; NULL for a page with more "
        "than 1,000 hosts or connections",
        "connections",
    ),
    Column("ideal_deployable", "INTEGER", "the same with evidence of level 3 or more", "connections"),
    Column(
        "ideal_owner",
        "INTEGER",
        "ideal_edge, and hosts of one owner merge too, on different machines (one_owner)",
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
        "ideal_edge over the requests that measured_tls counts; what one connection carried is not split",
        "connections",
    ),
    Column(
        "paired_ideal_deployable",
        "INTEGER",
        "ideal_deployable over the requests that measured_tls counts, likewise",
        "connections",
    ),
    Column("paired_ideal_owner", "INTEGER", "ideal_owner over the requests that measured_tls counts", "connections"),
    Column("without_asn", "INTEGER", "server addresses in no known AS; each counts as an AS of its own", "addresses"),
    Column(
        "without_key",
        "INTEGER",
        "server addresses without a server key (study model --colocation); each counts as a server of its own",
        "addresses",
    ),
    *BROWSER_COUNTS,
    Column(
        "left_out", "INTEGER", "requests that reached the network and whose server address is not known", "requests"
    ),
)

SITE_CERTIFICATES = table(
    "site_certificates",
    Stage.MODELLED,
    "site",
    "How each site's own certificate would change under the paper's ideal, over all its visits.",
    Column("site", "VARCHAR", "the site"),
    Column("certificate_id", "VARCHAR", "leaf of the site's document; NULL where not recorded"),
    Column("existing_names", "INTEGER", "names in it"),
    Column("ideal_names", "INTEGER", "existing names plus additions"),
    Column("additions", "INTEGER", "hosts in the site's AS that it does not cover"),
    Column(
        "deployable_additions",
        "INTEGER",
        "additions with evidence of level 3 or more, or of level 2 if they have the site's registrable domain",
    ),
    Column("visits", "INTEGER", "visits that these numbers are from"),
    Column("vantages", "INTEGER", "vantages of these visits"),
)

CERTIFICATE_ADDITIONS = table(
    "certificate_additions",
    Stage.MODELLED,
    "site name",
    "Names missing from a site's certificate by the paper's rule.",
    Column("site", "VARCHAR", "the site"),
    Column("name", "VARCHAR", "the missing host"),
    Column("certificate_id", "VARCHAR", "the site's certificate"),
    Column("rank", "INTEGER", "order within the site, by connections saved, from 1"),
    Column("level", "INTEGER", "evidence that one server can answer for both: 0 same AS ... 5 seen coalesced"),
    Column("same_owner", "BOOLEAN", "site and name have the same registrable domain"),
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
        "why not to add the name: misdirected (a server answered 421 for it), not_a_name (no public CA signs it), "
        "multi_cdn (it is on another edge at times); NULL if there is no known reason",
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
    Column("misdirected", "BOOLEAN", "a server answered 421 for this host; it should not be announced"),
    Column("requests", "BIGINT", "requests to it, over the site's visits"),
    Column("visits", "INTEGER", "visits with a request to it"),
    Column("seen_share", "DOUBLE", "these visits as a share of the site's visits, from 0 to 1"),
    Column(
        "connections_saved_firefox",
        "BIGINT",
        "connections to it that Firefox saves if it is announced over HTTP/2, over the site's visits; NULL where that "
        "is not one number, or it is not known whether the certificate covers it",
        "connections",
    ),
)

PROVIDER_CHANGES = table(
    "provider_changes",
    Stage.MODELLED,
    "provider asn name",
    "For each provider up to 10 names that save most connections if it adds them to the certificates of all its sites.",
    Column(
        "provider",
        "VARCHAR",
        "who runs the AS that the sites are in (addresses.organisation, else its name), or the server key",
    ),
    Column("asn", "BIGINT", "the AS; NULL where the provider is not one AS"),
    Column("name", "VARCHAR", "the name to add"),
    Column("rank", "INTEGER", "order in which to add them, from 1"),
    Column("sites", "INTEGER", "the provider's sites with requests to the name and a certificate without it"),
    Column(
        "connections_saved_paper",
        "BIGINT",
        "connections saved by this name in addition to those saved by the names before it",
        "connections",
    ),
    Column(
        "connections_saved_at_most",
        "BIGINT",
        "upper bound on what any set of this many names saves; if the names up to this one save as much, they are best",
        "connections",
    ),
    *SAVINGS,
    Column("connections", "BIGINT", "connections that all names together save at this provider", "connections"),
)

MODEL_SENSITIVITY = table(
    "model_sensitivity",
    Stage.MODELLED,
    "vantage browser parameter value",
    "The results for landing pages if one parameter of the models is changed at a time; written by originset study "
    "model --sensitivity. Each site counts with its average page.",
    Column("vantage", "VARCHAR", "the vantage; vantages are not pooled"),
    Column("browser", "VARCHAR", "the browser; browsers are not pooled"),
    Column("parameter", "VARCHAR", "the changed parameter: colocation, wildcards, coverage, predecessor, ..."),
    Column("value", "VARCHAR", "its value"),
    Column("chosen", "BOOLEAN", "this is the value that the study's other tables were computed with"),
    Column("pages", "BIGINT", "pages counted for connections (page_basis)"),
    Column("median_measured_tls", "DOUBLE", "median of their measured TLS connections", "connections"),
    Column("median_ideal_origin", "DOUBLE", "median of their connections under ideal ORIGIN", "connections"),
    Column("connections_saved", "DOUBLE", "measured_tls minus paired_ideal_origin, summed over sites", "connections"),
    Column(
        "connections_saved_deployable",
        "DOUBLE",
        "measured_tls minus paired_ideal_deployable, summed over sites",
        "connections",
    ),
    Column(
        "sites_unchanged_pct",
        "DOUBLE",
        "sites whose certificate needs no addition, of those where that is known",
        "percent",
    ),
    Column("additions", "BIGINT", "names missing from certificates, over all sites", "names"),
    Column("timelines", "BIGINT", "pages counted for load times (page_basis)"),
    Column("median_load_ms", "DOUBLE", "median of their measured load times", "ms"),
    Column("median_origin_ms", "DOUBLE", "median of their modelled load times under ORIGIN coalescing", "ms"),
    Column("load_saved_ms", "DOUBLE", "measured minus modelled load times, summed over sites", "ms"),
)

PAGE_LOAD_TIMES = table(
    "page_load_times",
    Stage.MODELLED,
    "visit_id",
    "Modelled load times under coalescing. These are models, not measurements. In the causal timeline nothing is sent "
    "before its connection is established, and only requests over TLS open connections that others use; the paper's "
    "timeline requires neither.",
    VISIT_ID,
    Column("measured_ms", "DOUBLE", "recorded load event", "ms"),
    Column("ip_ms", "DOUBLE", "modelled under IP coalescing, by the causal timeline", "ms"),
    Column("origin_ms", "DOUBLE", "modelled under ORIGIN coalescing, by the causal timeline", "ms"),
    Column("provider_ms", "DOUBLE", "modelled if one provider alone coalesces; NULL without a provider", "ms"),
    Column("paper_ip_ms", "DOUBLE", "ip_ms by the paper's timeline", "ms"),
    Column("paper_origin_ms", "DOUBLE", "origin_ms by the paper's timeline", "ms"),
    Column("paper_provider_ms", "DOUBLE", "provider_ms by the paper's timeline", "ms"),
    Column("left_out_reason", "VARCHAR", "why the page could not be modelled; NULL if it was"),
)
