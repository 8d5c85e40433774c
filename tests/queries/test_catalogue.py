"""Every named query on a real database: it runs, its header tells the truth, one of its numbers is right."""

import re

import pytest

from originset.data.database import open_database
from originset.data.errors import UsageError
from originset.queries.catalogue import catalogue, named, rows_of, run

# For each query one row of the example study, worked out by hand from tests/fixtures/example_study.py.
BY_HAND = {
    "additions_provider_summary": {
        "provider": "Cloudflare", "asn": 13335, "rank": 1, "name": "cdn.other.net", "sites": 1, "connections_saved": 3,
        "saved_pct": 100.0, "proved_best": True,
    },
    "additions_top_summary": {"name": "cdn.other.net", "sites": 1, "connections_saved": 3, "level": 0},
    # Of the pages a, b, c and f: f has none, b and c have one, a has three.
    "asns_page_pct": {"asns": 1, "pages": 2, "pct": 50.0, "cumulative_pct": 75.0},
    # 17 requests reached the network, 9 of them Cloudflare's.
    "asns_top_summary": {"asn": 13335, "as_name": "Cloudflare", "requests": 9, "hosts": 5, "visits": 2},
    "choices_model_summary": {
        "parameter": "colocation", "value": "ip", "chosen": False, "median_ideal_origin": 1.5, "connections_saved": 3,
        "connections_saved_more": -2,
    },
    # Seven of the ten showed a certificate whose names are known; each covers the host.
    # Today Chromium needs what it does for page a alone: 4 to 8 connections, for what its recording leaves out.
    "browsers_plan_summary": {
        "browser": "chromium", "model": "today", "tls_low": 8, "tls_high": 16, "dns": 20, "pages": 6,
    },
    # Five connections had an earlier one that could do; of two nobody can tell why it did not.
    "causes_all_summary": {"cause": "RACE", "connections": 1, "alone": 1, "pages": 1},
    # Two of which nothing is certain, and one that raced another of its host, with credentials that are not known.
    "causes_connection_summary": {"cause": "NOT_DECIDABLE", "detail": None, "connections": 3, "redundant_pct": 60.0},
    "causes_needs_summary": {
        "need": "credentials", "connections": 3, "not_decidable_pct": 100.0, "redundant_pct": 60.0,
    },
    "certificates_check_summary": {"check_name": "host not covered", "connections": 7, "found": 0},
    "connections_page_dist": {"dns": 5, "tls": 6, "ip_dns_tls": 4, "origin_dns_tls": 3},
    # 17 requests reached the network; two of them have a type.
    "content_types_summary": {"mime_type": "text/css", "requests": 1, "requests_pct": 100 / 17, "hosts": 1},
    "content_types_asn_summary": {
        "asn": 13335, "as_requests": 9, "mime_type": None, "requests": 7, "of_as_pct": 700 / 9,
    },
    # Visits a and b of the first site and e of the second.
    # Five connections that were not for the first name of their page, and two names in each of two pages.
    "exposures_model_summary": {
        "model": "measured", "channel": "dns", "names": 10, "clear": 6, "unknown": 4, "pages": 5,
    },
    "failures_rank_summary": {"ranks_from": 1, "visits": 3, "failed": 1, "failed_pct": 100 / 3, "dns": 1, "other": 0},
    # From here example.com loaded, as it did from there, and gone.test did not.
    "failures_vantage_summary": {
        "vantage": "here", "visits": 2, "failed": 1, "failed_pct": 50.0, "sites": 2, "sites_failed": 1,
        "sites_failed_here_alone": 0, "sites_seen_elsewhere": 1,
    },
    "failures_error_summary": {
        "status": "failed", "error": "dns", "error_code": "net::ERR_NAME_NOT_RESOLVED", "visits": 1, "sites": 1,
    },
    "hosts_top_summary": {"host": "cdn.other.net", "requests": 3, "visits": 2, "addresses": 1, "asns": 1},
    "issuers_host_summary": {"host": "cdn.other.net", "issuer": "Example CA", "issuers": 1, "connections": 3},
    "issuers_summary": {"issuer": "Example CA", "certificates": 3, "connections": 7, "connections_pct": 70.0},
    # Pages b, c and f: lookups 1, 2 and 0 against 1, 1 and 0 ASes.
    "ladder_dns_summary": {
        "counts": "DNS lookups", "rung": "same AS (the paper's ideal ORIGIN)", "aside": False, "total": 2,
        "median": 1.0, "saved": 1, "saved_pct": 33.33, "pages": 3, "left_out": 3,
        "left_out_why": "1 failed, 1 with a request to an unknown address, 1 without recorded lookups",
    },
    # Pages a, b, c and f: 6, 2, 2 and 0 connections; two duplicates; 3, 1, 1 and 0 ASes.
    "ladder_tls_summary": {
        "counts": "TLS connections", "rung": "without same-host duplicates", "aside": False, "total": 8,
        "median": 1.5, "saved": 2, "saved_pct": 20.0, "pages": 4, "left_out": 2,
        "left_out_why": "1 failed, 1 without connection ids",
    },
    "load_times_page_dist": {"page_load_times": 900.0, "cf_only_page_load_times": None},
    "load_times_model_summary": {"model": "measured", "pages": 2, "p50": 700.0},
    "load_times_reason_summary": {"left_out_reason": "no_load_time", "pages": 3},
    # Ten connections, and neither their addresses nor any answer.
    "names_resolve_summary": {"name_kind": "the host it was opened for", "pairs": 10, "resolves": 0, "unknown": 10},
    "pages_rank_summary": {"ranks_from": 1, "visits": 3, "loaded": 2, "requests": 6.0, "load_ms": 500.0, "tls": 4.0},
    "protocols_summary": {"protocol": "http/1.1", "secure": True, "requests": 1},
    "sander_causes_summary": {
        "bound": "endless", "cause": "CERT", "connections": 2, "tls_pct": 20.0, "pages": 1, "of_pages": 3,
    },
    "sans_changes_summary": {
        "sites": 3, "names_known": 1, "unchanged": 0, "at_most_10": 1, "at_most_10_pct": 100.0, "median_names": 2.0,
        "median_ideal_names": 4.0, "additions": 2,
    },
    "sans_size_summary": {"rank": 1, "names": 2, "sites": 1, "sites_pct": 100.0, "ideal_names": 4, "ideal_sites": 1},
    "sans_site_dist": {"original_san_list": 2, "updated_san_list": 4, "mapped_san_additions": 2},
    # Pages a and b are two visits of one page: 6 and 2 connections, 5 and 1 lookups. One page has no variance between.
    "variance_site_summary": {
        "counts": "TLS connections", "sites": 1, "visits": 2, "within_variance": 8.0, "between_variance": None,
    },
    "visits_status_summary": {"status": "ok", "visits": 5, "sites": 4},
}  # fmt: skip


@pytest.mark.parametrize("name", catalogue())
def test_a_query(study, name) -> None:
    query = named(name)
    with open_database(study) as connection:
        rows = rows_of(connection, name)
    assert rows.columns == list(query.columns), "the header names other columns than the query gives"
    assert query.description.endswith(".")
    assert all(query.columns.values())
    expected = BY_HAND[name]
    assert expected in [{key: row[key] for key in expected} for row in rows.iter_rows(named=True)], rows.rows()


def test_names_say_what_kind_of_answer_they_give() -> None:
    assert set(catalogue()) == set(BY_HAND)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*_(dist|pct|summary)", name) for name in catalogue())


def test_shares_add_up(study) -> None:
    with open_database(study) as connection:
        for query in catalogue().values():
            rows = rows_of(connection, query.name)
            for column in [name for name in rows.columns if name in {"pct", "requests_pct", "connections_pct"}]:
                assert rows[column].sum() == pytest.approx(100), (query.name, column)


def test_sql_counts_the_requests_that_the_models_count(study) -> None:
    with open_database(study) as connection:
        (expected,) = run(connection, "SELECT sum(requests)::BIGINT FROM page_counts").row(0)
        for name in ("asns_top_summary", "hosts_top_summary", "protocols_summary"):
            assert rows_of(connection, name)["requests"].sum() == expected, name


@pytest.mark.promise("sql-only-reads")
@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("", "no statement"),
        ("-- nothing", "no statement"),
        ("SELEKT", "syntax error"),
        ("SELECT * FROM missing\nWHERE x", "missing"),
        ("CREATE TABLE x (a INT)", "does more than read"),
        ("COPY visits TO 'out.csv'", "does more than read"),
        ("SELECT 1; COPY visits TO 'out.csv'", "does more than read"),
        ("EXPLAIN ANALYZE COPY visits TO 'out.csv'", "does more than read"),
        ("WITH q AS (COPY visits TO 'out.csv') SELECT 1", "does more than read"),
        ("SELECT (WITH q AS (COPY visits TO 'out.csv') SELECT 1)", "does more than read"),
        ("EXPORT DATABASE 'out'", "does more than read"),
        ("ATTACH 'other.duckdb'", "does more than read"),
        ("LOAD 'x.duckdb_extension'", "does more than read"),
        ("INSTALL httpfs", "does more than read"),
        ("SET enable_external_access = true", "does more than read"),
        ("CALL enable_logging(storage = 'file', storage_config = {'path': 'out'})", "does more than read"),
        ("SELECT * FROM read_csv('/etc/passwd')", "disabled"),
        ("SELECT * FROM '/etc/passwd'", "does not exist"),
        ("SELECT * FROM read_text('/etc/passwd')", "disabled"),
        ("SELECT * FROM glob('/*')", "disabled"),
        ("SELECT * FROM query_table('/etc/passwd')", "does not exist"),
        ("SELECT * FROM duckdb_secrets()", "disabled"),
        ("SELECT * FROM statements", "does not exist"),
        ("SELECT getenv('HOME')", "does not exist"),
        ("SELECT $a", "parameter"),
    ],
)
def test_sql_that_cannot_be_run_is_one_line(study, sql, says, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with open_database(study) as connection, pytest.raises(UsageError) as caught:
        run(connection, sql)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.promise("sql-only-reads")
@pytest.mark.parametrize("ending", ["", ".wal", ".wal.checkpoint", ".wal.recovery"])
@pytest.mark.parametrize("options", ["", " (FORMAT csv, USE_TMP_FILE false)"])
@pytest.mark.parametrize("around", ["{}", "SELECT 1; {}", "EXPLAIN ANALYZE {}", "WITH q AS ({}) FROM q"])
def test_the_study_cannot_be_written_over(study, ending, options, around) -> None:
    """DuckDB leaves the database's own file and its logs writable, even to a read-only connection."""
    before = {path: path.stat() for path in study.root.iterdir()}
    with open_database(study) as connection, pytest.raises(UsageError, match="does more than read"):
        run(connection, around.format(f"COPY visits TO '{study.database_path}{ending}'{options}"))
    assert {path: path.stat() for path in study.root.iterdir()} == before


def test_what_only_reads_is_allowed(study) -> None:
    with open_database(study) as connection:
        assert run(connection, "FROM visits SELECT count(*) AS n").rows() == [(6,)]
        assert run(connection, "WITH v AS (TABLE visits) SELECT count(*) AS n FROM v;").rows() == [(6,)]
        assert "visit_id" in run(connection, "DESCRIBE visits")["column_name"]


def test_parameters_are_values(study) -> None:
    with open_database(study) as connection:
        assert rows_of(connection, "hosts_top_summary", {"top": "2"}).height == 2
        for given, says in (
            ({"top": "1 OFFSET 3"}, "not a whole number"),
            ({"tap": "1"}, "has no parameter 'tap'; it has top"),
        ):
            with pytest.raises(UsageError, match=says):
                rows_of(connection, "hosts_top_summary", given)
        with pytest.raises(UsageError, match="it has none"):
            rows_of(connection, "protocols_summary", {"top": "1"})
        assert run(connection, "SELECT $host AS host", {"host": "'; DROP"}).rows() == [("'; DROP",)]


def test_every_parameter_is_used_and_explained() -> None:
    for query in catalogue().values():
        used = set(re.findall(r"\$([a-z]\w*)", re.sub(r"(?m)^--.*$", "", query.sql).replace("'$.", "")))
        assert used == set(query.parameters), query.name


def test_an_unknown_name_is_answered_with_a_near_one() -> None:
    with pytest.raises(UsageError, match="did you mean ladder_tls_summary"):
        named("ladder_tsl_summary")
    with pytest.raises(UsageError, match="list them"):
        named("'; DROP TABLE visits")
