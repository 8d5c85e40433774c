"""ARTIFACT.md: the claims of a published bundle, the commands that check them, their output and their costs."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import polars as pl

from originset.data.sanitising.printable import printable
from originset.queries.ladder import GROUP, Group, group_name
from originset.queries.visit_selection import Selection


@dataclass(frozen=True, slots=True)
class Step:
    """One command of the bundle: what it is for, how long it took when the bundle was made, and what it writes."""

    command: str
    purpose: str
    seconds: float
    written_bytes: int


@dataclass(frozen=True, slots=True)
class Bundle:
    """The contents of the page on a bundle.

    ``numbers``: as :class:`originset.queries.figures.all_figures.Drawn` has them; ``expected``: the paths of figures
    and tables in the folder of that name; ``folders``: of each vantage and browser its folder there; ``ladder``: rows
    of that query; ``visits``: how many by status; ``selection``: those that are asked about; ``versions``: of what the
    results depend on.
    """

    manifest: Mapping[str, Any]
    versions: Mapping[str, str]
    visits: Mapping[str, int]
    selection: Selection
    numbers: pl.DataFrame
    expected: Collection[str]
    folders: Mapping[Group, str]
    ladder: pl.DataFrame
    steps: Sequence[Step]
    bundle_bytes: int


_WHAT = {
    "figure-1": "Servers' ASes per page",
    "figure-3": "Lookups and connections per page, measured and at the paper's best cases",
    "figure-4": "Names in sites' certificates, now and with the paper's additions",
    "figure-5": "The tail of these certificates",
    "figure-9a": "Page load times, measured and by the paper's timeline: a model",
}

_CODE = re.compile(r"`[^`]+`")

# The most numbers of each figure that a claim quotes: medians and shares.
_QUOTED = 4


def page(bundle: Bundle) -> str:
    """The whole page, as Markdown; strangers' texts are escaped so that they stay in their line and cell."""
    manifest = bundle.manifest
    visits = ", ".join(f"{count:,} {status}" for status, count in bundle.visits.items())
    version = bundle.versions["originset"]
    disk = _size(bundle.bundle_bytes + sum(step.written_bytes for step in bundle.steps))
    return f"""\
# Artifact of a study of connection coalescing

Made by originset {version}. Visits: {visits}. What each table and column means is in SCHEMA.md.
Figures and claims are about: {_cell(bundle.selection.description)}.

## What is needed
Python 3.11 or newer, originset {version} (`pip install .` in its source), {disk} of disk, and no network.
The minutes below are those of the machine that made this bundle, rounded up.

## Commands
In the folder of this file:

| command | what it does | minutes | disk |
|---|---|---|---|
{_rows((f"`{step.command}`", step.purpose, _minutes(step.seconds), _size(step.written_bytes)) for step in bundle.steps)}
The last one prints nothing: figures and tables are byte for byte those of the study. `queries/` holds the SQL behind
each; `originset --study study query` lists them.

## Claims
| claim | command | expected output |
|---|---|---|
{_rows(_claims(bundle))}
`expected/numbers.csv` has all numbers of the figures.

## What the study rests on
| what | which |
|---|---|
{_rows(_facts(bundle))}
## Commands that made it
| command | version | began | ended | parameters |
|---|---|---|---|---|
{_rows(_runs(manifest))}
## What is not in it
Captures, the crawl's ledger, paths and query strings of URLs, names of local files and folders, what recorders wrote
for the protocol, addresses of vantages and of the cluster, where captures are kept, and whom to contact. In place of a
path stands the number of the visit's first request for that URL, so that equal URLs of a visit are still equal. Names
of hosts, addresses of servers and certificates are in it: they are the data.
"""


def _claims(bundle: Bundle) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    of_figures = bundle.numbers.group_by("figure", *GROUP, maintain_order=True)
    several = len(bundle.folders) > 1
    for (figure, vantage, browser), numbers in of_figures:
        # Figures of sites alone are beside the folders.
        of_sites = not several or f"{figure}.csv" in bundle.expected
        folder = "" if of_sites else f"{bundle.folders[vantage, browser]}/"
        telling = pl.col("number").str.contains("median") | (pl.col("unit") == "%")
        known_numbers = numbers.filter(telling, pl.col("ours").is_not_null()).head(_QUOTED)
        quoted = "; ".join(
            f"{what}: {value:,g} {unit}" for what, unit, value in known_numbers["number", "unit", "ours"].rows()
        )
        whose = "" if of_sites else f", {group_name((vantage, browser))}"
        claim = f"{_WHAT.get(str(figure), str(figure))}{whose}: {quoted}"
        drawing = bundle.selection.asked_of("originset study figures --study study --out figures")
        rows.append((claim, f"`{drawing}`", f"`expected/{folder}{figure}.csv`, `.svg`"))
    steps = bundle.ladder.filter(~pl.col("comparison_only"), pl.col("total").is_not_null())
    for vantage, browser, counts, rung, total, sites in steps.select(*GROUP, "counts", "rung", "total", "sites").rows():
        whose = f", {group_name((vantage, browser))}" if several else ""
        query = f"`{bundle.selection.asked_of('originset --study study query ladder_summary')}`"
        claim = f"{counts}, {rung}{whose}: {total:,g} over {sites:,} {'site' if sites == 1 else 'sites'}"
        rows.append((claim, query, f"{total:g} as `total` of that rung"))
    return rows


def _facts(bundle: Bundle) -> list[tuple[str, ...]]:
    manifest = bundle.manifest
    browser, sites = manifest.get("browser"), manifest.get("site_list")
    facts: list[tuple[str, ...]] = [(name, version) for name, version in bundle.versions.items()]
    if browser:
        facts.append(("browser build", f"{browser.get('name')} {browser.get('version')}"))
        facts.append(("browser flags", " ".join(f"`{flag}`" for flag in browser.get("flags", []))))
    if sites:
        facts.append(("site list", "; ".join(f"{key} {value}" for key, value in sites.items())))
    for key in ("vantages", "profile", "third_party_cookies", "seed"):
        if key in manifest:
            value = manifest[key]
            facts.append((key.replace("_", " "), ", ".join(value) if isinstance(value, list) else str(value)))
    for entry in manifest.get("rounds", []):
        settings = "; ".join(f"{key.replace('_', ' ')} {value or 'none'}" for key, value in entry["settings"].items())
        facts.append((f"round {entry['round']} of vantage {entry['vantage']}", settings))
    for what, entry in manifest.get("reference_data", {}).items():
        reference_facts = "; ".join(f"{key} {entry[key]}" for key in ("source", "date", "sha256") if key in entry)
        facts.append((what.replace("_", " "), reference_facts))
    if "models" in manifest:
        facts.append(("model parameters", "; ".join(f"{key} {value}" for key, value in manifest["models"].items())))
    return facts


def _runs(manifest: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            run["command"],
            run["version"],
            run["started_at"],
            run["ended_at"] or "did not end",
            "; ".join(f"{key} {value}" for key, value in run["parameters"].items()),
        )
        for run in manifest["runs"]
    ]


def _rows(rows: Any) -> str:  # noqa: ANN401 - any iterable of rows of text
    return "".join("| " + " | ".join(_cell(cell) for cell in row) + " |\n" for row in rows)


def _cell(text: object) -> str:
    plain = printable(str(text)).replace("|", "\\|")
    return plain if _CODE.fullmatch(plain) else plain.replace("<", "&lt;")  # in code Markdown has no tags


def _minutes(seconds: float) -> str:
    return str(max(1, ceil(seconds / 60)))


def _size(count: int) -> str:
    megabytes = count / 1e6
    if not count:
        return "none"
    return f"{megabytes:,.0f} MB" if megabytes >= 10 else f"{max(0.1, megabytes):.1f} MB"
