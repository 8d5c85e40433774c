"""Every named query on a real database: it runs, its header tells the truth, one of its numbers is right."""

import re

import polars as pl
import pytest

from originset.data.errors import UsageError
from originset.data.schema.page import EXAMPLES
from originset.data.studies.database import open_database
from originset.models.parameters import Parameters
from originset.queries.catalogue import catalogue, named_query, rows_of, run

# For each query one row of the example study, of one vantage and browser, by hand from tests/fixtures/example_study.py.
BY_HAND = {
    "additions_provider_summary": {
        "provider": "Cloudflare", "asn": 13335, "rank": 1, "name": "cdn.other.net", "sites": 1, "connections_saved": 3,
        "saved_pct": 100.0, "proved_best": True,
    },
    "additions_top_summary": {"name": "cdn.other.net", "sites": 1, "connections_saved": 3, "level": 0},
    # Of the imported pages c and f: f has none, c has one.
    "asns_page_pct": {"vantage": None, "browser": None, "asns": 1, "sites": 1, "pct": 50.0, "cumulative_pct": 100.0},
    # Of page a 8 requests reached the network, 5 of them Cloudflare's.
    "asns_top_summary": {
        "vantage": "here", "asn": 13335, "as_name": "Cloudflare", "requests": 5, "requests_pct": 62.5, "hosts": 4,
        "pages": 1,
    },
    "choices_model_summary": {
        "vantage": "here", "browser": "chromium", "parameter": "colocation", "value": "ip", "chosen": False,
        "median_ideal_origin": 4.0, "connections_saved": 2.0, "connections_saved_more": -1.0,
    },
    # Seven of the ten showed a certificate whose names are known; each covers the host.
    # Today Chromium needs what it does for page a alone: 5 to 8 connections, for what its recording leaves out.
    "browsers_plan_summary": {
        "vantage": "here", "recorded_by": "chromium", "browser": "chromium", "model": "today", "tls_low": 5,
        "tls_high": 8,
        "dns": 11, "sites": 1, "pages": 1,
    },
    # Of page a three connections had an earlier one that could do; of two nobody can tell why it did not.
    "causes_all_summary": {"vantage": "here", "cause": "RACE", "connections": 1, "alone": 1, "pages": 1, "of_pages": 1},
    "causes_connection_summary": {
        "vantage": "here", "cause": "NOT_DECIDABLE", "detail": None, "connections": 2, "redundant_pct": 66.666667,
    },
    "causes_owner_summary": {
        "vantage": "here", "owner_domain": "other.net", "third_party": True, "connections": 2, "pages": 1,
        "of_pages": 1,
    },
    "causes_needs_summary": {
        "vantage": "here", "need": "credentials", "connections": 2, "not_decidable_pct": 100.0,
        "redundant_pct": 66.666667,
    },
    "certificates_check_summary": {
        "vantage": "here", "check_name": "host not covered", "connections": 5, "found": 0, "found_pct": 0.0,
    },
    "connections_page_dist": {"vantage": "there", "dns": 1, "tls": 2, "ip_dns_tls": 2, "origin_dns_tls": 1,
                              "ip_dns": 0, "origin_dns": 0},
    "content_types_summary": {
        "vantage": "here", "mime_type": "text/css", "requests": 1, "requests_pct": 12.5, "hosts": 1, "pages": 1,
    },
    "content_types_asn_summary": {
        "vantage": "here", "asn": 13335, "as_requests": 5, "mime_type": None, "requests": 3, "of_as_pct": 60.0,
    },
    # Page a told a resolver five names.
    "exposures_model_summary": {
        "vantage": "here", "model": "measured", "channel": "dns", "names": 5, "clear": 5, "unknown": 0,
        "clear_per_page": 5.0, "pages": 1,
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
    "hosts_top_summary": {
        "vantage": "here", "host": "cdn.other.net", "requests": 2, "requests_pct": 25.0, "pages": 1, "addresses": 1,
        "asns": 1,
    },
    "issuers_host_summary": {
        "vantage": "here", "host": "cdn.other.net", "issuer": "Example CA", "issuers": 1, "connections": 2, "pages": 1,
    },
    "issuers_summary": {
        "vantage": "here", "issuer": "Example CA", "certificates": 3, "connections": 5, "connections_pct": 83.333333,
    },
    "ladder_rank_summary": {
        "vantage": "here", "browser": "chromium", "counts": "TLS connections", "ranks_from": 1, "ranks_to": 1000,
        "rung": "without same-host duplicates", "comparison_only": False, "total": 5.0, "median": 5.0, "saved": 1.0,
        "saved_pct": 16.67, "saved_pct_low": None, "site_saved_pct": 16.67, "sites": 1, "pages": 1,
    },
    # Page a: 6 connections, one a duplicate; a page of another site at this vantage failed.
    "ladder_summary": {
        "vantage": "here", "browser": "chromium", "counts": "TLS connections", "rung": "without same-host duplicates",
        "comparison_only": False, "total": 5.0, "median": 5.0, "saved": 1.0, "saved_pct": 16.67, "saved_pct_low": None,
        "site_saved_pct": 16.67, "saved_pct_least": 8.33, "saved_pct_most": 16.67, "saved_pct_by_rank": 16.67,
        "sites": 1,
        "pages": 1, "visits": 1, "left_out": 1, "left_out_why": "1 failed", "recorded_cookies": "not known",
    },
    "load_times_page_dist": {"browser": None, "page_load_times": 900.0, "cf_only_page_load_times": None},
    "load_times_model_summary": {"browser": None, "model": "measured", "sites": 1, "p50": 900.0},
    "load_times_reason_summary": {"browser": None, "reason": "without a load event", "pages": 2},
    # Six connections of page a, and neither their addresses nor any answer.
    "names_resolve_summary": {
        "vantage": "here", "name_kind": "the host it was opened for", "pairs": 6, "resolves": 0, "unknown": 6,
    },
    "pages_rank_summary": {
        "vantage": "here", "ranks_from": 1, "visits": 2, "requests": 8.0, "load_ms": 500.0, "load_sites": 1, "dns": 5.0,
        "dns_sites": 1, "tls": 6.0, "tls_sites": 1,
    },
    # Page a's six connections, of which one is a duplicate, and two more have an earlier one that could do.
    "pages_top_summary": {
        "visit_id": "a", "site": "example.com", "url": "https://www.example.com/0", "vantage": "here",
        "browser": "chromium", "round": None, "status": "ok", "tls": 6, "deployable": 5, "dns": 5, "redundant": 3,
    },
    # Page a: www, static and fonts have addresses of their own, and so has cdn.other.net, whose two requests may be of
    # two modes; assets may join static, by its address, or not, by what time it was there.
    "predictions_check_summary": {
        "vantage": "here", "browser": "chromium", "part": "protocol", "value": "h2", "within_pct": 100.0,
        "likely_pct": 0.0, "width": 2.0, "recorded": 5.0, "error": 0.0, "pages": 1, "sites": 1, "of_pages": 1,
    },
    "predictions_other_summary": None,  # no page was recorded with two browsers
    "protocols_summary": {
        "vantage": "here", "protocol": "http/1.1", "secure": True, "requests": 1, "requests_pct": 12.5,
    },
    # Nine of the ten connections are over HTTP/2.
    "sander_causes_summary": {
        "vantage": "here", "protocols": "h2", "bound": "endless", "cause": "CERT", "connections": 2, "tls_pct": 40.0,
        "pages": 1, "of_pages": 1,
    },
    "sans_changes_summary": {
        "sites": 3, "names_known": 1, "unchanged": 0, "at_most_10": 1, "at_most_10_pct": 100.0, "median_names": 2.0,
        "median_ideal_names": 4.0, "additions": 2,
    },
    "sans_size_summary": {"rank": 1, "names": 2, "sites": 1, "sites_pct": 100.0, "ideal_names": 4, "ideal_sites": 1},
    "sans_site_dist": {"original_san_list": 2, "updated_san_list": 4, "mapped_san_additions": 2},
    "variance_site_summary": None,  # no page was visited twice from one vantage
    "visits_status_summary": {"status": "ok", "visits": 5, "sites": 4},
}  # fmt: skip


@pytest.mark.parametrize("name", catalogue())
def test_a_query(study, name) -> None:
    query = named_query(name)
    with open_database(study) as connection:
        rows = rows_of(connection, name)
    assert rows.columns == list(query.columns), "the header names other columns than the query gives"
    assert query.description.endswith(".")
    assert all(query.columns.values())
    expected = BY_HAND[name]
    if expected is None:
        assert rows.is_empty()
        return
    assert expected in [{key: row[key] for key in expected} for row in rows.iter_rows(named=True)], rows.rows()


def test_visits_of_one_page_vary(build_study, example_rows) -> None:
    """Of no vantage, a and b are two visits of one page: 6 and 2 connections. One page has none between pages."""
    rows = {**example_rows, "visits": [{**row, "vantage": None, "browser": None} for row in example_rows["visits"]]}
    with open_database(build_study(rows, Parameters())) as connection:
        (row,) = rows_of(connection, "variance_site_summary").filter(counts="TLS connections").rows(named=True)
    assert (row["pages"], row["visits"], row["within_variance"], row["between_variance"]) == (1, 2, 8.0, None)


def test_groups_of_ranks_are_parts_of_the_ladder(build_study, example_rows) -> None:
    """Ranks at the bounds of groups, one beyond them all and a site without."""
    ranks = {"example.com": 1000, "shop.test": 1001, "empty.test": 1_000_001}
    visits = [
        {**row, "vantage": None, "browser": None, "rank": ranks.get(row["site"])} for row in example_rows["visits"]
    ]
    rows = {**example_rows, "visits": visits}
    rows["visits"] += [{**visits[2], "visit_id": "c2", "site": "unranked.test", "rank": None}]
    for name in ("requests", "connections"):
        again = [{**row, "visit_id": "c2"} for row in rows[name] if row["visit_id"] == "c"]
        rows[name] = [*rows[name], *again]
    with open_database(build_study(rows, Parameters())) as connection:
        by_rank, ladder = rows_of(connection, "ladder_rank_summary"), rows_of(connection, "ladder_summary")
    measured = by_rank.filter(counts="TLS connections", rung="measured")
    assert measured.select("ranks_from", "ranks_to", "total", "sites").rows() == [
        (1, 1000, 4.0, 1),
        (1001, 10_000, 2.0, 1),
        (1_000_001, None, 0.0, 1),
        (None, None, 2.0, 1),
    ]
    added = by_rank.group_by("counts", "rung", maintain_order=True).agg(
        pl.col("total", "saved", "sites", "pages").sum()
    )
    same = ladder.filter(counts="TLS connections").select(added.columns)
    assert added.filter(counts="TLS connections").sort("rung").rows() == same.sort("rung").rows()


# Which rows of the named query, and which of its columns, say the same.
_SAME_AS = {
    "ladder_summary": (
        pl.col("counts").eq("TLS connections") & pl.col("rung").eq("measured"),
        ["vantage", "browser", "median"],
    ),
    "causes_owner_summary": (pl.col("third_party"), ["vantage", "browser", "owner_domain", "connections"]),
    "causes_connection_summary": (pl.lit(True), ["vantage", "browser", "cause", "detail", "fixable_by", "connections"]),
    "additions_provider_summary": (pl.col("rank").eq(1), ["provider", "asn"]),
    "sans_changes_summary": (pl.lit(True), ["median_names", "median_ideal_names"]),
}


@pytest.mark.parametrize(("question", "query", "sql"), EXAMPLES, ids=[query for _, query, _ in EXAMPLES])
def test_an_example_says_what_the_named_query_says(study, question, query, sql) -> None:
    rows, columns = _SAME_AS[query]
    with open_database(study) as connection:
        own = run(connection, sql).select(columns)
        named = rows_of(connection, query).filter(rows).select(columns)
    assert not named.is_empty()
    assert sorted(own.rows(), key=repr) == sorted(named.rows(), key=repr)


def test_names_say_what_kind_of_answer_they_give() -> None:
    assert set(catalogue()) == set(BY_HAND)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*_(dist|pct|summary)", name) for name in catalogue())


def test_shares_add_up(study) -> None:
    with open_database(study) as connection:
        for query in catalogue().values():
            rows = rows_of(connection, query.name)
            for column in [name for name in rows.columns if name in {"pct", "requests_pct", "connections_pct"}]:
                shares = rows.group_by("vantage", "browser").agg(pl.col(column).sum())
                assert shares[column].to_list() == pytest.approx([100] * shares.height), (query.name, column)


def test_sql_counts_the_requests_that_the_models_count(study) -> None:
    with open_database(study) as connection:
        (expected,) = run(
            connection,
            "SELECT sum(requests)::BIGINT FROM page_counts JOIN counted_visits USING (visit_id)"
            " WHERE question = 'servers'",
        ).row(0)
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
        ("SELECT '\udcff'", "not UTF-8"),
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
        assert rows_of(connection, "hosts_top_summary", {"top": "1"}).height == 3, "one of each vantage"
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
    with pytest.raises(UsageError, match="did you mean ladder_summary"):
        named_query("lader_summary")
    with pytest.raises(UsageError, match="list them"):
        named_query("'; DROP TABLE visits")
