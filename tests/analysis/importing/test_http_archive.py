"""Rows of HTTP Archive's tables, made by hand from their public schema, to visits."""

import base64
import gzip
import json
import random
import re
import secrets
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from measured_import import measured_import
from rich.progress import Progress

from originset.analysis.importing import http_archive
from originset.analysis.importing.import_batch import ImportSettings, ImportSummary
from originset.analysis.importing.import_run import import_hars
from originset.crawler.testbed.servers.certificate_authority import Authority
from originset.data.studies.shards import scan
from originset.data.studies.study import Study

EXAMPLE = "https://www.example.com/"
_END = "-----END CERTIFICATE-----\n"


def request_row(page: str, number: int, host: str, socket: int, **payload: Any) -> dict[str, Any]:
    """A row of crawl.requests, with the fields of the documented example's payload that tell something."""
    url = f"https://{host}/{number}?token=S3CRET"
    opened = payload.pop("opened", True)
    entry = {
        "pageref": "page_1_0_1",
        "_run": 1,
        "_cached": 0,
        "startedDateTime": f"2024-07-12T12:44:{30 + number}.448119",
        "time": 1080,
        "request": {"method": "GET", "url": url, "httpVersion": "HTTP/2",
                    "headers": [{"name": "cookie", "value": "S3CRET"}]},
        "response": {"status": 200, "httpVersion": "HTTP/2", "headersSize": 354, "bodySize": 648,
                     "content": {"size": 648, "mimeType": "text/html" if number == 0 else "text/css"}},
        "timings": {"blocked": 172, "dns": 182, "connect": 539, "ssl": 363, "send": 0, "wait": 186, "receive": 1}
        if opened else {"blocked": 0, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": 186, "receive": 1},
        "_ip_addr": "192.0.2.7",
        "_full_url": url,
        "_request_type": "Document" if number == 0 else "Stylesheet",
        "_socket": socket,
        "_protocol": "HTTP/2",
        "_initiator": "" if number == 0 else page,
        **payload,
    }  # fmt: skip
    return {
        "date": "2024-07-01",
        "client": "mobile",
        "page": page,
        "is_root_page": page == EXAMPLE,
        "root_page": EXAMPLE,
        "url": url,
        "is_main_document": number == 0,
        "type": "html" if number == 0 else "css",
        "index": str(number),  # BigQuery writes 64-bit integers as text
        "payload": json.dumps(entry),
        "summary": "{}",
        "request_headers": [{"name": "cookie", "value": "S3CRET"}],
        "response_body": "S3CRET",
    }


def page_row(page: str) -> dict[str, Any]:
    payload = {
        "startedDateTime": "2024-07-12T12:44:29.0",
        "title": f"Run 1, First View for {page}",
        "id": "page_1_0_1",
        "pageTimings": {"onLoad": 218, "onContentLoad": 200},
        "_URL": page,
        "_browser_name": "Chrome",
        "_browser_version": "126.0.0.0",
    }
    return {"date": "2024-07-01", "client": "mobile", "page": page, "is_root_page": page == EXAMPLE, "rank": "1000",
            "wptid": "240712_x", "payload": json.dumps(payload), "custom_metrics": {"x": "{}"}}  # fmt: skip


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    return path


def run(study: Study, *paths: Path) -> ImportSummary:
    with study.changing("import", {}), Progress(disable=True) as progress:
        return import_hars(study, paths, progress)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(tmp_path / "study")


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    issued = Authority(tmp_path_factory.mktemp("ca")).issue(["www.example.com", "*.example.com"])
    return [pem + _END for pem in issued.chain.read_text().split(_END)[:-1]]


ROWS = [
    request_row(EXAMPLE, 0, "www.example.com", 91),
    request_row("https://www.example.com/about", 0, "www.example.com", 12),
    request_row(EXAMPLE, 2, "static.example.com", 91, opened=False),
    request_row(EXAMPLE, 1, "cdn.test", 95),
]


def test_rows_of_pages_and_requests_meet(study, tmp_path):
    pages = write(tmp_path / "pages-000.json", [page_row(EXAMPLE), page_row("https://alone.test/")])
    requests = write(tmp_path / "requests-000.json", ROWS)
    summary = run(study, pages, requests)
    assert (summary.refused, summary.pages_without_requests) == ([], 1)
    visits = scan(study, "visits").sort("source").collect()
    assert visits.select(
        "source", "site", "rank", "page_kind", "client", "recorder", "browser", "browser_version", "load_ms", "status"
    ).rows() == [
        ("httparchive/2024-07-01/mobile/https://www.example.com/", "www.example.com", 1000, "landing", "mobile",
         "webpagetest", "chromium", "126.0.0.0", 218.0, "ok"),
        ("httparchive/2024-07-01/mobile/https://www.example.com/about", "www.example.com", None, "internal", "mobile",
         "webpagetest", None, None, None, "ok"),
    ]  # fmt: skip
    rows = scan(study, "requests").filter(visit_id=visits["visit_id"][0]).sort("request_id").collect()
    assert rows.select(
        "host", "connection_id", "connection_source", "server_ip", "protocol", "resource_type"
    ).rows() == [
        ("www.example.com", 91, "inferred", "192.0.2.7", "h2", "document"),
        ("cdn.test", 95, "inferred", "192.0.2.7", "h2", "stylesheet"),
        ("static.example.com", 91, "inferred", "192.0.2.7", "h2", "stylesheet"),
    ]
    # startedDateTime is when they were sent: the first two were asked for 893 ms of blocked, DNS and connect before.
    assert rows["started_ms"].to_list() == [0.0, 1000.0, 2893.0]
    assert rows["dns_ms"].to_list() == [182.0, 182.0, None]


def test_certificates_and_resumption_of_the_entry_that_opened_the_connection(study, tmp_path, chain):
    details = {"protocol": "TLS 1.3", "subjectName": "www.example.com", "sanList": ["www.example.com"], "issuer": "x"}
    opened = {"_certificates": chain, "_securityDetails": details, "_tls_version": "TLS 1.3", "_tls_resumed": "False"}
    rows = [request_row(EXAMPLE, 0, "www.example.com", 91, **opened), ROWS[2]]
    rows.append(request_row(EXAMPLE, 3, "other.test", 7, _securityDetails=details, _tls_resumed="True"))
    run(study, write(tmp_path / "requests.json", rows))
    connections = scan(study, "connections").sort("connection_id", descending=True).collect()
    certificates = scan(study, "certificates").collect()
    real = certificates.row(by_predicate=pl.col("chain").list.len() == 2, named=True)
    assert set(real["chain"]) <= set(certificates["certificate_id"])
    assert real["chain"][0] == real["certificate_id"]
    assert connections.select("connection_id", "certificate_id", "tls_version", "resumed", "hosts").row(0) == (
        91, real["certificate_id"], "TLS 1.3", False, ["www.example.com", "static.example.com"],
    )  # fmt: skip
    der = base64.b64decode("".join(chain[0].split("-----")[2].split()))
    assert real["der_bytes"] == len(der)
    assert connections["certificate_id"][1].startswith("fields-")
    assert connections["resumed"][1] is True
    names = scan(study, "certificate_names").filter(certificate_id=real["certificate_id"]).collect()["name"]
    assert sorted(names) == ["*.example.com", "www.example.com"]


def test_parquet_says_what_json_lines_say(tmp_path):
    rows = [*ROWS, page_row(EXAMPLE)]
    by_kind = {}
    for kind in ("json", "gz", "parquet"):
        study = Study(tmp_path / f"study-{kind}")
        if kind == "parquet":
            pl.DataFrame(ROWS).drop("request_headers").write_parquet(tmp_path / "requests.parquet")
            pl.DataFrame(rows[-1:]).drop("custom_metrics").write_parquet(tmp_path / "pages.parquet")
            run(study, tmp_path / "requests.parquet", tmp_path / "pages.parquet")
        else:
            file = write(tmp_path / "all.jsonl", rows)
            if kind == "gz":
                file = tmp_path / "all.jsonl.gz"
                file.write_bytes(gzip.compress((tmp_path / "all.jsonl").read_bytes()))
            run(study, file)
        by_kind[kind] = [
            scan(study, table).sort("visit_id").collect() for table in ("visits", "requests", "connections")
        ]
    for kind in ("gz", "parquet"):
        for one, other in zip(by_kind["json"], by_kind[kind], strict=True):
            assert one.sort(one.columns[:2]).equals(other.sort(other.columns[:2])), kind
    assert by_kind["json"][1].height == 4


def test_the_documented_export_has_all_that_the_import_reads(tmp_path):
    """The statements of the guide, run over such tables: the import gives what it gives of whole rows."""
    guide = (Path(__file__).parents[3] / "docs" / "howto-researcher.md").read_text()
    exports = re.findall(r"EXPORT DATA .*'gs://BUCKET/(\w+)-\*\.parquet'.* AS\n(SELECT [^;]*);", guide)
    assert [name for name, _ in exports] == ["pages", "requests"]
    of_another_page = [{**row, "is_root_page": False, "rank": "5000"} for row in ROWS if row["page"] != EXAMPLE]
    rows = {
        "pages": [{**page_row(EXAMPLE), "root_page": EXAMPLE}],
        "requests": [{**row, "rank": "1000"} for row in ROWS if row["page"] == EXAMPLE] + of_another_page,
    }
    with duckdb.connect() as archive:
        archive.execute("CREATE MACRO to_json_string(json) AS json")
        for name, select in exports:
            typed = pl.DataFrame(rows[name]).with_columns(pl.col("date").str.to_date(), pl.col("rank").cast(pl.Int64))
            archive.register("typed", typed.to_arrow())
            archive.execute(f'CREATE TABLE "httparchive.crawl.{name}" AS FROM typed')
            archive.sql(select.replace("`", '"')).write_parquet(str(tmp_path / f"{name}-0.parquet"))
    exported, whole = Study(tmp_path / "exported"), Study(tmp_path / "whole")
    summary = run(exported, *sorted(tmp_path.glob("*.parquet")))
    assert not summary.refused, [str(one) for one in summary.refused]
    run(whole, write(tmp_path / "all.jsonl", [*rows["requests"][:-1], *rows["pages"]]))
    for table in ("visits", "requests", "connections"):
        assert scan(exported, table).collect().equals(scan(whole, table).collect()), table
    assert scan(exported, "visits").select("rank", "client", "page_kind").collect().rows() == [
        (1000, "mobile", "landing")
    ]
    assert scan(exported, "requests").collect().height == 3


def test_parquet_may_hold_the_payload_as_bytes_or_as_a_structure(tmp_path):
    rows = [{**row, "index": int(row["index"])} for row in ROWS]
    kinds = {
        "text": pa.array([row["payload"] for row in rows]),
        "bytes": pa.array([row["payload"].encode() for row in rows]),
        "structure": pa.array([json.loads(row["payload"]) for row in rows]),
    }
    found = []
    for kind, payloads in kinds.items():
        table = pa.Table.from_pylist([{**row, "payload": None} for row in rows])
        path = tmp_path / f"{kind}.parquet"
        pq.write_table(table.set_column(table.schema.get_field_index("payload"), "payload", payloads), path)
        study = Study(tmp_path / kind)
        assert run(study, path).refused == []
        found.append(scan(study, "requests").drop("visit_id").sort("url").collect())
    assert found[0].height == 4
    assert found[0].equals(found[1])
    assert found[0].equals(found[2])


def test_rows_of_parquet_of_the_wrong_type_are_refused_by_themselves(study, tmp_path):
    rows = [{**row, "index": int(row["index"]), "rank": rank} for row, rank in zip(ROWS, (1, 2**31, 3, 4), strict=True)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    summary = run(study, tmp_path / "rows.parquet")
    assert [(error.source, error.reason) for error in summary.refused] == [("rows.parquet#2", "not-json")]
    assert summary.requests == 3


def test_a_page_visited_for_several_roots_is_a_visit_for_each(study, tmp_path):
    of_itself = [request_row(EXAMPLE, n, "www.example.com", 1) for n in range(3)]
    linked = [
        {**request_row(EXAMPLE, n, "www.example.com", 1), "is_root_page": False, "root_page": root}
        for root in ("https://b.test/", "https://c.test/?token=S3CRET")
        for n in range(2)
    ]
    run(study, write(tmp_path / "rows.jsonl", [*linked, *of_itself]))
    requests = scan(study, "requests").group_by("visit_id").len("entries")
    visits = scan(study, "visits").join(requests, on="visit_id").sort("source").collect()
    source = f"httparchive/2024-07-01/mobile/{EXAMPLE}"
    assert visits.select("source", "page_kind", "entries").rows() == [
        (source, "landing", 3),
        (f"{source} from https://b.test/", "internal", 2),
        (f"{source} from https://c.test/?token=REDACTED", "internal", 2),
    ]


def test_the_same_rows_in_any_order_and_files_add_nothing(study, tmp_path):
    run(study, write(tmp_path / "requests.json", ROWS))
    shuffled = random.Random(1).sample(ROWS, len(ROWS))  # noqa: S311 - an order
    first, second = write(tmp_path / "a.json", shuffled[:2]), write(tmp_path / "b.json", shuffled[2:])
    summary = run(study, first, second)
    assert (summary.imported, summary.already, summary.refused) == (0, 2, [])


def test_many_parts_hold_what_one_holds(tmp_path, monkeypatch):
    whole, parts = Study(tmp_path / "whole"), Study(tmp_path / "parts")
    file = write(
        tmp_path / "requests.json", [request_row(f"https://{n % 50}.test/", n // 50, "x.test", 1) for n in range(200)]
    )
    run(whole, file)
    monkeypatch.setattr(http_archive, "_PART_BYTES", 10_000)
    run(parts, file)
    for table in ("visits", "requests"):
        rows = [scan(study, table).sort("visit_id").collect() for study in (whole, parts)]
        assert rows[0].equals(rows[1])
    assert rows[0].height == 200


@pytest.mark.promise("hars-refused-one-by-one")
def test_bad_rows_are_refused_by_themselves(study, tmp_path):
    file = write(tmp_path / "requests.json", ROWS)
    lines = file.read_bytes().splitlines(keepends=True)
    bad = [
        b'{"page": "x", "payload": "{"}\n',
        b'{"page": 1\n',
        b'{"payload": "{}"}\n',
        b'{"page": "x", "payload": "[1]"}\n',
    ]
    deep = b'{"page": "x", "payload": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    file.write_bytes(b"".join([lines[0], *bad, deep, *lines[1:], lines[0][: len(lines[0]) // 2]]))
    summary = run(study, file)
    assert sorted(error.source for error in summary.refused) == sorted(
        f"requests.json#{number}" for number in (2, 3, 4, 5, 6, 10)
    )
    assert scan(study, "requests").collect().height == 4
    assert scan(study, "rejects").collect().height == 6


def test_a_field_of_the_wrong_type_costs_its_own_field_alone(study, tmp_path):
    rows = [ROWS[0], request_row(EXAMPLE, 1, "cdn.test", 95, _ip_addr={"of": "cdn.test"})]
    assert run(study, write(tmp_path / "requests.json", rows)).refused == []
    assert scan(study, "requests").sort("request_id").collect()["server_ip"].to_list() == ["192.0.2.7", None]


def test_an_export_that_was_cut_off_keeps_the_rows_before(study, tmp_path):
    rows = [request_row(f"https://{number}.test/", number, secrets.token_hex(30), 1) for number in range(400)]
    packed = gzip.compress(write(tmp_path / "whole.json", rows).read_bytes())
    (tmp_path / "whole.json").unlink()
    (tmp_path / "cut.json.gz").write_bytes(packed[: len(packed) * 9 // 10])
    summary = run(study, tmp_path)
    assert [(error.source, error.reason) for error in summary.refused] == [(f"{tmp_path.name}/cut.json.gz", "damaged")]
    assert 100 < scan(study, "requests").collect().height < 400


def test_what_is_no_row_at_all(study, tmp_path, monkeypatch):
    pq.write_table(pa.table({"page": ["https://a.test/"]}), tmp_path / "other.parquet")
    file = write(tmp_path / "long.json", [ROWS[0], {**ROWS[3], "summary": "x" * 9000}, ROWS[1]])
    file.write_bytes(file.read_bytes().replace(b"\n", b"\n\n", 1))
    monkeypatch.setattr(http_archive, "_MAX_LINE", 8000)
    summary = run(study, tmp_path / "other.parquet", file)
    assert [(error.source, error.reason) for error in summary.refused] == [
        ("other.parquet", "not-har"),
        ("long.json", "too-large"),
    ]
    assert scan(study, "requests").collect().height == 1


def test_a_copy_of_each_page_is_kept_if_asked_for(tmp_path):
    study, again = Study(tmp_path / "study"), Study(tmp_path / "again")
    file = write(tmp_path / "requests.json", ROWS)
    with study.changing("import", {}), Progress(disable=True) as progress:
        import_hars(study, [file], progress, ImportSettings(keep_files=True))
    copies = sorted((study.root / "files").rglob("*.har.zst"))
    assert len(copies) == 2
    assert all(b"S3CRET" not in zstandard.decompress(copy.read_bytes()) for copy in copies)
    run(again, *copies)
    columns = ("url", "host", "server_ip", "connection_id", "status", "wait_ms")
    rows = [scan(one, "requests").select(columns).sort("url", "connection_id").collect() for one in (study, again)]
    assert rows[0].equals(rows[1])


@pytest.mark.promise("imports-without-secrets")
def test_no_secret_of_a_row_is_kept(study, tmp_path):
    run(study, write(tmp_path / "requests.json", ROWS))
    for table in ("visits", "requests", "connections"):
        assert "S3CRET" not in json.dumps(scan(study, table).collect().to_dicts(), default=str)


def test_memory_does_not_grow_with_the_export(tmp_path):
    def risen_kib(rows: int) -> int:
        file = tmp_path / f"{rows}.json"
        with file.open("wb") as opened:
            for number in range(rows):
                row = request_row(f"https://{number % (rows // 20)}.test/", number % 20, "x.test", 1)
                opened.write(json.dumps({**row, "response_body": "x" * 20_000}).encode() + b"\n")
        done = measured_import(Study(tmp_path / f"study-{rows}"), file, part_bytes=4 << 20)
        assert (done.imported, done.refused) == (rows // 20, [])  # pages
        return done.risen_kib

    assert risen_kib(5000) - risen_kib(1000) < 100 << 10  # the larger file is 115 MB


@pytest.mark.promise("hars-are-bounded")
def test_a_text_that_many_rows_share_is_not_in_memory_for_each(study, tmp_path):
    """A payload of 3 MB for 200 rows. With one of 100 MB, four kilobytes took 8 GB."""
    payload = ROWS[0]["payload"].removesuffix("}") + " " * (3 << 20) + "}"
    same = pa.array([0] * 200, pa.int32())
    columns = {"page": [EXAMPLE] * 200, "payload": pa.DictionaryArray.from_arrays(same, pa.array([payload]))}
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(columns), path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 4096
    done = measured_import(study, path)
    assert (done.imported, done.refused) == (1, [])
    assert done.risen_kib < 400 << 10


@pytest.mark.promise("hars-are-bounded")
def test_rows_that_unpack_to_more_than_any_export_does_are_refused(study, tmp_path, monkeypatch):
    monkeypatch.setattr(http_archive, "MIN_SUSPECT", 1 << 20)
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"page": [EXAMPLE] * 20_000, "payload": [ROWS[0]["payload"]] * 20_000}), path)
    assert path.stat().st_size < 8192
    summary = run(study, path)
    assert [(error.source, error.reason) for error in summary.refused] == [("rows.parquet", "bomb")]
