"""The crawl of a list: slots with a browser each, a ledger of what is left, captures that are whole or not there."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import msgspec

from originset.crawler.browsers.engine import browser_flags, differences
from originset.crawler.browsers.scratch import sweep
from originset.crawler.crawl.coordinator import Coordinator, Progress, Run
from originset.crawler.crawl.local_workers import require_limits, run_locally
from originset.crawler.crawl.outages import Announce
from originset.crawler.crawl.pending_visits import CrawlPlan, plan_crawl
from originset.crawler.crawl.round_settings import settle_round
from originset.crawler.crawl.site_list import SiteList
from originset.crawler.machine import give_memory_back
from originset.crawler.settings import Cluster, CrawlSettings
from originset.crawler.visits.visit_browsers import browser_for
from originset.data.captures.capture_place import settle_place
from originset.data.errors import MissingDependency
from originset.data.ledger.crawl_ledger import Ledger
from originset.data.studies.study import Study


@dataclass(slots=True)
class CrawlSummary:
    """What a crawl did: visits by status, those that were there already by state, those still to make.

    ``shortage`` says what the machine or the cluster ran out of, if that ended it; ``left_out`` which workers could not
    be used, and why; ``failing`` by how much its failures are above the bound that was given. ``unnamed`` are visits
    with connections of which it is not known for which host they were opened.
    """

    made: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    left_over: int = 0
    shortage: str | None = None
    left_out: list[str] = field(default_factory=list)
    unnamed: int = 0
    failing: str | None = None


def crawl(
    study: Study,
    sites: SiteList,
    settings: CrawlSettings,
    progress: Progress,
    planned: Callable[[CrawlPlan], None],
    *,
    announce: Announce = lambda _line: None,
) -> CrawlSummary:
    """Visit what is left of a list.

    ``planned`` is told once what that is; ``progress`` every visit, from any thread, and how many are left;
    ``announce`` a line for people whenever the crawl pauses or goes on, from any thread.

    SIGINT and SIGTERM end it in order (in the main thread only): no browser stays, no capture is half written, the
    ledger has the rest queued.

    Raises:
        KeyboardInterrupt: it was told to end.
        BrowserError: no browser could be started and visits are left over.
        ClusterError: the cluster is not reached, or its workers cannot do this.
        UsageError: visits cannot be kept to the address families that are wanted; a cluster that is not to be trusted.
        StudyError: the study cannot be changed, or the round has visits with other settings.
    """
    with _executor(settings) as run:
        settings = settle_round(study, settings, _version_of_browser(settings))
        with study.changing("crawl", _parameters(sites, settings)) as counts:
            store = settle_place(study, settings.captures)
            if store is not None:
                store.sweep()
            with Ledger(study.ledger_path) as ledger:
                plan = plan_crawl(study, ledger, sites, settings, store)
                planned(plan)
                coordinator = Coordinator(study, ledger, settings, plan, store, progress, announce)
                with _signals(coordinator.stop):
                    run(coordinator)
                if store is not None:
                    store.sweep()
            _record_facts(study, sites, settings, coordinator)
            if coordinator.stopped:
                raise KeyboardInterrupt
            summary = _summary(plan, coordinator)
            counts.update(_counts(plan, coordinator))
            if coordinator.error is not None:
                raise coordinator.error
            return summary


def _summary(plan: CrawlPlan, coordinator: Coordinator) -> CrawlSummary:
    return CrawlSummary(
        dict(coordinator.made),
        plan.skipped,
        coordinator.left_over,
        coordinator.shortage,
        coordinator.left_out,
        coordinator.unnamed,
        coordinator.failing,
    )


def _counts(plan: CrawlPlan, coordinator: Coordinator) -> dict[str, Any]:
    """What ``runs`` keeps of a crawl."""
    counts = {"made": dict(coordinator.made), "skipped": plan.skipped, "left_over": coordinator.left_over}
    if coordinator.unnamed:
        counts["unnamed_connections"] = coordinator.unnamed
    if plan.excluded:
        counts["excluded"] = plan.excluded
    return counts


def _version_of_browser(settings: CrawlSettings) -> str | None:
    """The version of this machine's browser, if the round depends on it; workers of a cluster tell theirs by visits."""
    if not settings.as_round or settings.cluster is not None:
        return None
    with browser_for(settings.visit) as browser:
        return browser.version


def _executor(settings: CrawlSettings) -> AbstractContextManager[Run]:
    """Who makes the visits: this machine, or a cluster, which is reached when this is entered."""
    if settings.cluster is not None:
        return _connected(settings.cluster)
    require_limits(settings.visit)
    sweep()
    give_memory_back()
    return nullcontext(run_locally)


def _connected(cluster: Cluster) -> AbstractContextManager[Run]:
    try:
        from originset.crawler.cluster.cluster_crawl import connected  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise MissingDependency(f"the package {error.name}", "pip install 'originset[cluster]'") from error
    return connected(cluster)


def _parameters(sites: SiteList, settings: CrawlSettings) -> dict[str, Any]:
    return {
        "site_list": sites.source,
        "site_list_sha256": sites.sha256,
        "vantage": settings.vantage,
        "vantage_ip": settings.vantage_ip,
        "round": settings.round_number,
        "repeats": settings.repeats,
        "jobs": settings.jobs if settings.cluster is None else None,
        "timeout_s": settings.visit.timeout_s,
        "retries": settings.retries,
        "browser": settings.visit.browser,
        "third_party_cookies": settings.visit.third_party_cookies,
        "resolver": None if settings.resolver is None else settings.resolver.name,
        "only_failed": settings.only_failed,
        "shard": f"{settings.shard[0]}/{settings.shard[1]}",
        "internal": settings.internal,
        "profile": settings.profile,
        "profile_per_visit": settings.visit.profile_per_visit,
        "device": settings.visit.device,
        "family": settings.visit.family,
        "allow_private": settings.visit.allow_private,
        "consent": settings.visit.consent,
        "contact": settings.visit.contact,
        "respect_robots": settings.respect_robots,
        "per_address": settings.per_address,
        "per_as": settings.per_as,
        "cluster": None if settings.cluster is None else settings.cluster.address,
        "captures": settings.captures,
        "known_good": [f"{host}:{port}" for host, port in settings.known_good],
        "fail_above": settings.fail_above,
    }


def _record_facts(study: Study, sites: SiteList, settings: CrawlSettings, coordinator: Coordinator) -> None:
    manifest = study.manifest()
    if coordinator.browser_version is not None:
        browser = settings.visit.browser
        kind = "own" if browser == "firefox" else coordinator.sandbox
        study.update_manifest(
            browser={
                "name": browser,
                "version": coordinator.browser_version,
                "flags": list(browser_flags(browser, kind, settings.visit.third_party_cookies)),
                "features": None if coordinator.features is None else msgspec.structs.asdict(coordinator.features),
                "sandbox": kind,
                "differs": list(differences(settings.visit)),
            }
        )
    study.update_manifest(
        site_list={"source": sites.source, "sha256": sites.sha256, "sites": len(sites.sites), **sites.origin},
        seed=coordinator.seed,
        profile=settings.profile,
        third_party_cookies=settings.visit.third_party_cookies,
        vantages=sorted({*manifest.get("vantages", []), settings.vantage}),
    )


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """SIGINT and SIGTERM call ``stop``; only the main thread may say so, others run without."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: stop()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
