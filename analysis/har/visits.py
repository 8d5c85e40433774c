"""Rows of ``visits`` from a HAR's pages and their requests, with what limits each recording."""

from __future__ import annotations

import polars as pl

from originset.analysis.har.entry_columns import VisitFacts
from originset.analysis.har.quality import ON_NETWORK, quality_words
from originset.analysis.har.urls import url_columns
from originset.data.schema.study_tables import TABLES


def visit_rows(visits: list[VisitFacts], requests: pl.DataFrame, *, keep_secrets: bool = False) -> pl.DataFrame:
    """One row per page, also of pages without entries. ``requests``: the result of request_rows."""
    frame = pl.DataFrame(
        {
            "visit": range(len(visits)),
            "visit_id": [facts.visit_id for facts in visits],
            "asked_url": [_address(facts.page.url, facts.page.address) if facts.page else None for facts in visits],
            "title_url": [_address(facts.page.title) if facts.page else None for facts in visits],
            "source": [facts.source for facts in visits],
            "source_sha256": [facts.sha256 for facts in visits],
            "recorder": [facts.recorder.name for facts in visits],
            "recorder_version": [facts.recorder_version for facts in visits],
            "browser": [facts.browser for facts in visits],
            "browser_version": [facts.browser_version for facts in visits],
            "rank": [facts.rank for facts in visits],
            "client": [facts.client for facts in visits],
            "page_kind": [facts.page_kind for facts in visits],
            "load_ms": [_milliseconds(facts.page.timings.on_load if facts.page else None) for facts in visits],
            "dom_content_loaded_ms": [
                _milliseconds(facts.page.timings.on_content_load if facts.page else None) for facts in visits
            ],
        },
        schema_overrides={
            "visit": pl.Int64,
            "rank": pl.Int32,
            "load_ms": pl.Float64,
            "dom_content_loaded_ms": pl.Float64,
        }
        | dict.fromkeys(
            (
                "asked_url",
                "title_url",
                "source_sha256",
                "recorder_version",
                "browser",
                "browser_version",
                "client",
                "page_kind",
            ),
            pl.String,
        ),
    )
    documents = _documents(requests)
    frame = frame.join(documents, on="visit", how="left", maintain_order="left")
    page_urls, title_urls = (url_columns(frame[name], keep_secrets=keep_secrets) for name in ("asked_url", "title_url"))
    told_host = page_urls["host"].zip_with(page_urls["host"].is_not_null(), title_urls["host"])
    frame = frame.with_columns(
        # Without an HTML answer (a repeated view, served from the cache) the page's own field is used.
        pl.coalesce(pl.when(pl.col("choice") == 0).then("document_host"), told_host, "document_host").alias("site"),
        pl.coalesce(page_urls["url"], "first_url", title_urls["url"]).alias("url"),
        pl.coalesce("document_url", page_urls["url"], title_urls["url"]).alias("final_url"),
        pl.when(pl.col("document_status").is_not_null()).then(pl.lit("ok")).otherwise(pl.lit("failed")).alias("status"),
        pl.when(pl.col("entries").is_null())
        .then(pl.lit("empty"))
        .when(pl.col("document_status").is_null())
        .then(pl.lit("no_response"))
        .alias("error"),
        pl.col("document_error").alias("error_code"),
        quality_words(visits, requests, frame["asked_url"], frame["title_url"]),
    )
    return frame.select(
        pl.col(name).cast(kind) if name in frame.columns else pl.lit(None, kind).alias(name)
        for name, kind in TABLES["visits"].polars_schema.items()
    )


def _address(*given: str | None) -> str | None:
    """The first text that is a URL: recorders have a field for it, or write it as the title."""
    return next((text for text in given if text and text.startswith(("http://", "https://")) and " " not in text), None)


def _milliseconds(value: float | None) -> float | None:
    return value if value is not None and value >= 0 else None


def _documents(requests: pl.DataFrame) -> pl.DataFrame:
    """Each visit's document: its first HTML answer that is not a redirect, else its first request over HTTP."""
    requests = requests.select(
        "visit",
        "request_id",
        "url",
        "scheme",
        "host",
        "status",
        "error",
        "mime_type",
        "resource_type",
        "zero",
        "started",
    )
    redirect = pl.col("status").is_between(300, 399) & (pl.col("status") != 304)
    html = pl.col("mime_type").is_in(["text/html", "application/xhtml+xml"]) | (pl.col("resource_type") == "document")
    choice = (
        pl.when(html.fill_null(value=False) & ~redirect.fill_null(value=False))
        .then(0)
        .when(~redirect.fill_null(value=False))
        .then(1)
        .otherwise(2)
    )
    documents = (
        requests.filter(ON_NETWORK)
        .with_columns(choice.alias("choice"))
        .sort("visit", "choice", "request_id")
        .unique("visit", keep="first", maintain_order=True)
        .select(
            "visit",
            "choice",
            pl.col("url").alias("document_url"),
            pl.col("host").alias("document_host"),
            pl.col("status").alias("document_status"),
            pl.col("error").alias("document_error"),
        )
    )
    first_requests = (
        requests.sort("visit", "request_id")
        .group_by("visit", maintain_order=True)
        .agg(
            pl.len().alias("entries"),
            pl.col("url").filter(ON_NETWORK).first().alias("first_url"),
            pl.coalesce(pl.col("zero").first(), pl.col("started").min()).alias("started_at"),
        )
    )
    return first_requests.join(documents, on="visit", how="left")
