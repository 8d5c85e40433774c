"""What each request of a page is: who is a third party, and what has credentials, goes by the document that made it."""

from typing import Any

import polars as pl
from example_study import MakeTables, request_row

from originset.models.browsers.request_groups import modes_of
from tests.fixtures.browser_models import part_of

WWW, FRAME, STATIC = "www.one.test", "frame.two.test", "static.one.test"


def modes(make_tables: MakeTables, requests: list[dict[str, Any]], final_url: str | None) -> pl.DataFrame:
    visit = {"visit_id": "v", "site": WWW, "status": "ok", "source": "page.har", "final_url": final_url}
    hosts = [{"host": host, "registrable_domain": host.partition(".")[2]} for host in (WWW, FRAME, STATIC)]
    tables = make_tables({"visits": [visit], "requests": requests, "hosts": hosts})
    rows = modes_of(part_of(tables)).with_columns(pl.col("host", "main_host", "main_site").cast(pl.String))
    return rows.select("host", "main_host", "main_site", "cross_site", "third_party", "credentialed")


def test_a_page_over_http_is_its_document_all_the_same(make_tables: MakeTables) -> None:
    requests = [
        request_row("v", 0, WWW, "104.16.0.1", 1, scheme="http", port=80, resource_type="document"),
        request_row("v", 1, FRAME, "104.16.0.2", 2, resource_type="document", credentials="unknown"),
        request_row("v", 2, STATIC, "104.16.0.3", 3, resource_type="image", frame_site="one.test"),
    ]
    found = modes(make_tables, requests, f"http://{WWW}/0").sort("host")
    assert found["main_host"].to_list() == [WWW, WWW]
    assert found.select("host", "cross_site", "third_party").rows() == [(FRAME, True, True), (STATIC, False, False)]


def test_the_document_is_the_one_with_the_visits_final_url(make_tables: MakeTables) -> None:
    requests = [
        request_row("v", 0, FRAME, "104.16.0.2", 1, resource_type="document"),
        request_row("v", 1, WWW, "104.16.0.1", 2, resource_type="document", url=f"https://{WWW}/final"),
        request_row("v", 2, STATIC, "104.16.0.3", 3, resource_type="image", frame_site="one.test"),
    ]
    found = modes(make_tables, requests, f"https://{WWW}/final")
    assert found["main_site"].unique().to_list() == ["one.test"]
    # What leads to the page is asked for by nobody's frame.
    assert found.filter(host=FRAME)["cross_site"].to_list() == [False]
