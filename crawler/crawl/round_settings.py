"""The round that a crawl's visits belong to: one browser and one way of visiting, or another round."""

from __future__ import annotations

import threading
from dataclasses import replace

from originset.crawler.settings import CrawlSettings
from originset.data.captures.capture import Visit
from originset.data.errors import StudyError
from originset.data.studies.rounds import Settings, differences, round_entries, settings_by_round
from originset.data.studies.study import Study


def compared_settings(settings: CrawlSettings) -> dict[str, str | None]:
    """What all visits of a round have in common, but for the browser's version, which visits tell."""
    visit = settings.visit
    return {
        "browser": visit.browser,
        "device": visit.device,
        "third_party_cookies": visit.third_party_cookies,
        "consent": visit.consent,
        "family": visit.family,
        "profile": settings.profile,
        "profile_per_visit": "yes" if visit.profile_per_visit else None,
    }


def settle_round(study: Study, settings: CrawlSettings, version: str | None = None) -> CrawlSettings:
    """The settings of a crawl with the number of the round that its visits belong to.

    With ``as_round`` that is the vantage's latest round with the same settings, and else one that it has not had yet.
    ``version`` is the browser's, where it is known before the first visit.

    Raises:
        StudyError: the round has visits with other settings; what differs is said.
    """
    manifest = study.manifest() if study.manifest_path.exists() else {"runs": []}
    recorded = settings_by_round(round_entries(manifest), settings.vantage)
    wanted = compared_settings(settings) | ({} if version is None else {"browser_version": version})
    if settings.as_round:
        same = [number for number, held in recorded.items() if _same_settings(held, wanted) is not None]
        return replace(settings, round_number=max(same) if same else max(recorded, default=0) + 1)
    held = recorded.get(settings.round_number)
    if held is not None and _same_settings(held, wanted) is None:
        raise _refusal(study, settings, differences(held[0], wanted), "add --as-round")
    return settings


def _same_settings(held: list[Settings], wanted: Settings) -> Settings | None:
    """The settings that do not differ; None if all do."""
    return next((recorded for recorded in held if not differences(recorded, wanted)), None)


def _refusal(study: Study, settings: CrawlSettings, differing: list[str], option: str) -> StudyError:
    whose = f"round {settings.round_number} of vantage {settings.vantage}"
    return StudyError(
        study.root,
        f"{whose} was visited with {'; '.join(differing)}",
        f"crawl with the same, or {option} to crawl as a round of its own",
    )


class RoundRecord:
    """The entry of a crawl's round in ``study.json``, written with the first visit. For several threads."""

    def __init__(self, study: Study, settings: CrawlSettings) -> None:
        self._study = study
        self._settings = settings
        self._recorded: Settings | None = None
        self._lock = threading.Lock()

    def refusal(self, visit: Visit) -> StudyError | None:
        """Why a visit is not to be kept in the round: its browser has another version than those before it."""
        if visit.browser_version is None:
            return None
        wanted = {**compared_settings(self._settings), "browser_version": visit.browser_version}
        with self._lock:
            if self._recorded is None:
                self._recorded = self._enter(wanted)
            differing = differences(self._recorded, wanted)
        if not differing:
            return None
        return _refusal(self._study, self._settings, differing, "give another --round")

    def _enter(self, wanted: Settings) -> Settings:
        """The settings that the study has for the round, with the version where it has none yet."""
        vantage, number = self._settings.vantage, self._settings.round_number
        entries = round_entries(self._study.manifest())
        held = settings_by_round(entries, vantage).get(number, [])
        recorded = _same_settings(held, wanted) or (held[0] if held else wanted)
        completed = {**wanted, **recorded}
        others = [entry for entry in entries if entry["settings"] is not recorded]
        entry = {"vantage": vantage, "round": number, "settings": completed}
        ordered = sorted([*others, entry], key=lambda entry: (entry["vantage"], entry["round"]))
        self._study.update_manifest(rounds=ordered)
        return completed
