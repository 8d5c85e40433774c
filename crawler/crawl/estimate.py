"""What a crawl would take, before it is made: visits, and room on the disk."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from originset.crawler.crawl.pending_visits import plan_crawl
from originset.crawler.crawl.round_settings import settle_round
from originset.crawler.crawl.site_list import SiteList
from originset.crawler.settings import CrawlSettings
from originset.data.captures.capture import capture_paths
from originset.data.captures.capture_place import CaptureStore, captures_folder, confirm_place, place_of
from originset.data.ledger.crawl_ledger import Ledger
from originset.data.ledger.ledger_file import copy_ledger
from originset.data.studies.study import Study

# A page of 103 requests, the median of the real HARs that this was measured on, over 16 connections, the median of
# "Respect the ORIGIN!". Compressed, a request takes some 300 bytes without its body, a connection with its chain 2,500.
_USUAL_BYTES = 103 * 300 + 16 * 2_500
_USUAL = "a page of 103 requests on 16 connections, as this study has no captures to go by"
_ENOUGH = 5_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """``visits`` to be made at first, each of which may bring up ``internal`` more; visits of before by state.

    ``page_bytes`` is what a capture takes, ``basis`` what that rests on, ``total_bytes`` what all take at most;
    ``free_bytes`` is what the study's disk has left.
    """

    visits: int
    internal: int
    skipped: dict[str, int]
    excluded: int
    page_bytes: int
    basis: str
    free_bytes: int

    @property
    def total_bytes(self) -> int:
        """All captures, with every internal page that may come up."""
        return self.visits * (1 + self.internal) * self.page_bytes


def estimate(study: Study, sites: SiteList, settings: CrawlSettings) -> Estimate:
    """What :func:`originset.crawler.crawl_run.crawl` would do now. Nothing is visited and the study stays as it is.

    Visits under way count as still to make. Captures that are kept elsewhere are listed where a crawl would list them.

    Raises:
        StudyError: its ledger cannot be read, its order was shuffled with another seed, its captures are kept in a
            place that the user has not named, or the round has visits with other settings.
    """
    settings = settle_round(study, settings)
    elsewhere = _place(study, settings)
    with tempfile.TemporaryDirectory(prefix="originset-") as folder:
        copy = Path(folder) / study.ledger_path.name
        if study.ledger_path.exists():
            copy_ledger(study.ledger_path, copy)
        with Ledger(copy) as ledger:
            plan = plan_crawl(study, ledger, sites, settings, elsewhere)
    sizes = [path.stat().st_size for path in islice(capture_paths(captures_folder(study)), _ENOUGH)]
    disk = next(folder for folder in (study.root.absolute(), *study.root.absolute().parents) if folder.exists())
    return Estimate(
        visits=len(plan.pending),
        internal=settings.internal,
        skipped=plan.skipped,
        excluded=plan.excluded,
        page_bytes=sum(sizes) // len(sizes) if sizes else _USUAL_BYTES,
        basis=f"the mean of {len(sizes)} captures of this study" if sizes else _USUAL,
        free_bytes=shutil.disk_usage(disk).free,
    )


def _place(study: Study, settings: CrawlSettings) -> CaptureStore | None:
    if not study.manifest_path.exists():
        return None
    if settings.captures is not None and settings.captures == study.manifest().get("captures"):
        confirm_place(study, settings.captures)
    return place_of(study)
