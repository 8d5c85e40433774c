"""What a crawl has to do, from the list and the ledger; what a crawl that was killed left behind."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from originset.crawler.crawl.frontier import in_shard, shuffled
from originset.crawler.crawl.politeness import host_of, is_excluded
from originset.crawler.crawl.site_list import SiteList, is_page_url
from originset.crawler.settings import CrawlSettings
from originset.data.captures.capture import (
    SUFFIX,
    Extension,
    capture_path,
    capture_paths,
    decode_extension,
    read_capture_bytes,
    unpack_capture,
)
from originset.data.captures.capture_place import CaptureStore
from originset.data.captures.capture_store import capture_name
from originset.data.errors import InputError, StudyError
from originset.data.ledger.crawl_ledger import Ledger, LedgerRow, Outcome, State
from originset.data.ledger.ledger_file import ledger_error
from originset.data.studies.identity import crawl_visit_id
from originset.data.studies.shards import scan
from originset.data.studies.study import Study

OUTCOMES: dict[str, Outcome] = {"ok": "done", "partial": "partial", "failed": "failed"}
FINISHED = frozenset(OUTCOMES.values())

# How analyze names a capture that it refused.
_SOURCE = "captures/"
_LONG_AGO = "1970-01-01T00:00:00+00:00"


@dataclass(frozen=True, slots=True)
class CrawlPlan:
    """The visits to make, in order, and how many were made before, by state.

    ``excluded`` sites of the list do not want to be visited; ``recovered`` visits were whole already although the
    crawl that made them could not say so any more. ``round_number`` is the round that they belong to.
    """

    pending: list[LedgerRow]
    skipped: dict[str, int]
    seed: int
    excluded: int
    recovered: int
    round_number: int


def plan_crawl(
    study: Study, ledger: Ledger, sites: SiteList, settings: CrawlSettings, store: CaptureStore | None = None
) -> CrawlPlan:
    """Enter the list's visits in the ledger and say which are to be made.

    ``store`` is where captures are kept, if not in the study's folder.

    Raises:
        StudyError: the study's order was shuffled with another seed.
    """
    seed = _seed(study, ledger, settings)
    recovered = recover(study, ledger, store)
    wanted = [site for site in sites.sites if in_shard(site.name, *settings.shard)]
    rows = [
        LedgerRow(site.name, settings.vantage, settings.round_number, repeat, rank=site.rank, address=site.url)
        for repeat in range(1, settings.repeats + 1)
        for site in wanted
    ]
    kept = [row for row in rows if not is_excluded(host_of(row), settings.excluded)]
    ledger.add(kept)
    recovered += reconcile(study, ledger, store)
    landing = {(row.site, row.repeat) for row in kept}
    state: State = "failed" if settings.only_failed else "queued"
    pending: list[LedgerRow] = []
    skipped: dict[str, int] = {}
    for row, its_state in ledger.rows(settings.vantage, settings.round_number):
        if row.address is not None and not is_page_url(row.address):
            raise ledger_error(study.ledger_path, sqlite3.DatabaseError(f"{row.address[:80]!r} is no page's address"))
        if (row.site, row.repeat) not in landing or is_excluded(host_of(row), settings.excluded):
            continue
        if its_state == state:
            pending.append(row)
        else:
            skipped[its_state] = skipped.get(its_state, 0) + 1
    excluded = len({row.site for row in rows}) - len({row.site for row in kept})
    return CrawlPlan(shuffled(pending, seed), skipped, seed, excluded, recovered, settings.round_number)


def _seed(study: Study, ledger: Ledger, settings: CrawlSettings) -> int:
    wanted = secrets.randbelow(1 << 32) if settings.seed is None else settings.seed
    seed = int(ledger.stored_fact("seed", str(wanted)))
    if settings.seed is not None and seed != settings.seed:
        raise StudyError(study.root, f"its crawls are shuffled with seed {seed}", "leave --seed out, or use another")
    return seed


def recover(study: Study, ledger: Ledger, store: CaptureStore | None = None) -> int:
    """Settle what a crawl that was killed had leased: done if its capture is in place, queued if not. How many done."""
    done = 0
    for row, since in ledger.leased_rows():
        extension = _existing_capture(study, row, since, store)
        if extension is None:
            ledger.requeue(row)
        else:
            _settle(ledger, row, extension)
            done += 1
    return done


def reconcile(study: Study, ledger: Ledger, store: CaptureStore | None = None) -> int:
    """Make the ledger agree with the captures. How many visits it learnt of.

    A visit that it knows as never tried was made if its capture is there; one that was made is made again if its
    capture is not. Captures that are kept elsewhere are looked through if the ledger may have lost rows; if not, only
    those are that ``analyze`` refused, since it says to remove them.
    """
    if store is not None and ledger.is_complete():
        _make_again(ledger, _refused_captures(study, store))
        return 0
    ledger.clear_complete()
    there = _visit_ids(study, store)
    unknown = set(there)
    learnt, before = 0, -1
    while learnt > before:  # what a visit leads to has its rows from its capture
        before = learnt
        for row, state, attempts in ledger.all_rows():
            visit_id = _visit_id(row)
            unknown.discard(visit_id)
            if state in FINISHED and visit_id not in there:
                ledger.requeue(row)
            elif state == "queued" and visit_id in there and not attempts:
                extension = _existing_capture(study, row, _LONG_AGO, store)
                if extension is not None:
                    _settle(ledger, row, extension)
                    learnt += 1
    if not unknown:
        ledger.mark_complete()
    return learnt


def _make_again(ledger: Ledger, removed: set[str]) -> None:
    if removed:
        for row, state, _ in ledger.all_rows():
            if state in FINISHED and _visit_id(row) in removed:
                ledger.requeue(row)


def _refused_captures(study: Study, store: CaptureStore) -> set[str]:
    """Visits whose captures were refused and are not there any more."""
    sources = scan(study, "rejects").select("source").collect()["source"]
    names = (capture_name(source.removeprefix(_SOURCE)) for source in sources if source.startswith(_SOURCE))
    return {visit_id for visit_id in names if visit_id is not None and store.read(visit_id) is None}


def _visit_ids(study: Study, store: CaptureStore | None) -> set[str]:
    if store is not None:
        return {kept.visit_id for kept in store.captures()}
    return {path.name.removesuffix(SUFFIX) for path in capture_paths(study.captures)}


def _visit_id(row: LedgerRow) -> str:
    return crawl_visit_id(row.site, row.vantage, row.round, row.page, row.repeat)


def _settle(ledger: Ledger, row: LedgerRow, extension: Extension) -> None:
    visit = extension.visit
    rows = internal_pages(row, visit.status, extension.links)
    ledger.finish(row, OUTCOMES[visit.status], visit.error, visit.error_code, rows)


def _existing_capture(study: Study, row: LedgerRow, since: str, store: CaptureStore | None) -> Extension | None:
    visit_id = _visit_id(row)
    path = capture_path(study.captures, visit_id)
    try:
        if store is None:
            text = read_capture_bytes(path)
        elif (packed := store.read(visit_id)) is not None:
            text = unpack_capture(packed, str(path))
        else:
            return None
        extension = decode_extension(text, str(path))
    except InputError:
        return None
    # An older one is of a visit that was to be made again.
    made = datetime.fromisoformat(extension.visit.started_at) >= datetime.fromisoformat(since)
    return extension if made else None


def internal_pages(row: LedgerRow, status: str, links: Iterable[str]) -> list[LedgerRow]:
    """The visits that follow from one: to the links that were chosen, unless what they stand on is an error's page.

    Of a capture that somebody else made or a worker sent, they may be anything: only addresses of pages are followed.
    """
    if status == "failed":
        return []
    return [
        LedgerRow(row.site, row.vantage, row.round, row.repeat, page=link, rank=row.rank, address=link)
        for link in links
        if is_page_url(link)
    ]
