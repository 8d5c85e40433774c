"""A study's manifest as it can be published: what is named here, and nothing else.

Numbers stay. A text stays where this module names its field: any other may be a file of the machine, the address of a
vantage or whom to contact, also in a field that a later version adds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

# Fields of the manifest whose texts say nothing but what they are there for: versions, settings, names of vantages.
_WHOLE = frozenset(
    {"format", "created_at", "originset", "views", "models", "seed", "profile", "third_party_cookies", "vantages"}
)
# The texts among a command's parameters: crawl's, then those of originset.models.parameters.
_TEXTS = frozenset(
    {
        "site_list_sha256", "vantage", "browser", "third_party_cookies", "shard", "profile", "profile_per_visit",
        "device", "family", "consent", "colocation", "wildcards", "coverage", "predecessor", "parallel_dns",
        "blocked_time", "ssl",
    }
)  # fmt: skip
_ROUND_TEXTS = frozenset({"browser_version", *_TEXTS})
_BROWSER = frozenset({"name", "version", "flags", "features", "sandbox", "differs"})
_DOWNLOADED = "tranco:"
_LOCAL = re.compile(r"=.*[/\\~].*")


def sanitised_manifest(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest without names of files and folders, addresses, and without whom to contact."""
    parts: dict[str, Callable[[Any], Any]] = {
        "browser": _browser,
        "site_list": _site_list,
        "reference_data": lambda tables: {what: _reference(_fields(entry)) for what, entry in tables.items()},
        "rounds": lambda rounds: [_round(entry) for entry in rounds],
        "merged": lambda studies: [_study(number, facts) for number, facts in enumerate(studies, 1)],
        "runs": lambda runs: [_published_run(run) for run in runs],
    }
    whole = {key: value for key, value in manifest.items() if key in _WHOLE}
    return whole | {key: part(manifest[key]) for key, part in parts.items() if key in manifest}


def _fields(value: object) -> Mapping[str, Any]:
    """Of what should be an object, its fields; somebody else may have written the manifest."""
    return value if isinstance(value, Mapping) else {}


def _study(number: int, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {"study": f"study-{number}", **sanitised_manifest(facts)}


def _round(entry: Mapping[str, Any]) -> dict[str, Any]:
    settings = _parameters(entry["settings"], _ROUND_TEXTS)
    return {"vantage": entry["vantage"], "round": entry["round"], "settings": settings}


def _published_run(run: Mapping[str, Any]) -> dict[str, Any]:
    parameters = _parameters(run["parameters"], _TEXTS)
    listed = run["parameters"].get("site_list")
    if isinstance(listed, str) and listed.startswith(_DOWNLOADED):
        parameters["site_list"] = listed
    kept = {key: run[key] for key in ("run_id", "command", "version", "started_at", "ended_at") if key in run}
    return {**kept, "parameters": parameters, "counts": _parameters(run.get("counts", {}), frozenset())}


def _parameters(given: Mapping[str, Any], texts: frozenset[str]) -> dict[str, Any]:
    """Numbers, and the texts under these names."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, Mapping):
            found[name] = _parameters(value, texts)
        elif name in texts or _is_number(value) or (isinstance(value, list) and value and all(map(_is_number, value))):
            found[name] = value
    return found


def _is_number(value: object) -> bool:
    return value is None or isinstance(value, int | float)


def _browser(browser: object) -> dict[str, Any]:
    fields = {key: value for key, value in _fields(browser).items() if key in _BROWSER}
    if "flags" in fields:  # the value of one may be a path
        flags = fields["flags"] if isinstance(fields["flags"], list) else []
        fields["flags"] = [_LOCAL.sub("", str(flag)) for flag in flags]
    return fields


def _site_list(site_list: object) -> dict[str, Any]:
    listed = _fields(site_list)
    source = listed.get("source")
    downloaded = isinstance(source, str) and source.startswith(_DOWNLOADED)
    return {
        key: value
        for key, value in listed.items()
        if key in {"sha256", "sites"} or (downloaded and key in {"source", "id", "url"})
    }


def _reference(entry: Mapping[str, Any]) -> dict[str, Any]:
    # What has a format is a user's own table, whose source is its file; of all others it is who published them.
    told = {"date", "sha256"} if "format" in entry else {"source", "date", "sha256"}
    return {key: value for key, value in entry.items() if key in told}
