"""Observe the rules in the installed browsers, show what differs from what is stored, and store it.

    python -m originset.crawler.testbed.rules [RULE...] [--loads N] [--latency PROFILE] [--out FOLDER] [--captures DIR]

Without RULEs all of them. FOLDER gets the rules' files with what was observed. The two browsers run at the same time,
each in a network namespace of its own. A difference is a result: it is printed and stored, and the exit code is 0.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import signal
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import msgspec

from originset.crawler.testbed.latency import PROFILES
from originset.crawler.testbed.namespace import run_inside
from originset.crawler.testbed.rules import observations as stored
from originset.crawler.testbed.rules import rule_catalogue
from originset.crawler.testbed.rules.observation_differences import differences
from originset.crawler.testbed.rules.rule_observation import observe_rules
from originset.crawler.testbed.testbed import Testbed
from originset.data.errors import OriginsetError, TestbedError, UsageError

_MODULE = "originset.crawler.testbed.rules"
_BROWSERS: tuple[stored.Browser, ...] = ("chromium", "firefox")
_COOKIES: tuple[stored.Cookies, ...] = ("allowed", "blocked")
_NEWS_EVERY = 100


class _Seen(msgspec.Struct):
    """What the process of one browser hands back."""

    version: str
    latency: str
    cells: tuple[stored.Cell, ...]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog=f"python -m {_MODULE}", description="Observe the browsers' rules.")
    parser.add_argument("rules", nargs="*", metavar="RULE", help="names of rules (default: all)")
    parser.add_argument("--loads", type=int, default=5, metavar="N", help="loads of each rule (default: 5)")
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="where the rules' files are written (default: nowhere)"
    )
    parser.add_argument("--captures", type=Path, metavar="DIR", help="keep Chromium's captures, one a load")
    parser.add_argument("--latency", choices=PROFILES, default="none", help="round trips as on such an access network")
    # How this module starts itself again.
    parser.add_argument("--inner", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--browser", choices=_BROWSERS, help=argparse.SUPPRESS)
    parser.add_argument("--to", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    rules = given.rules or list(rule_catalogue.rule_names())
    try:
        if unknown := sorted(set(rules).difference(rule_catalogue.rule_names())):
            raise UsageError(f"there is no rule {unknown[0]}", "the rules are the files in crawler/testbed/rules/texts")
        if not given.inner:
            # Every process below ends with these namespaces, however it comes about, and every file with this folder.
            with tempfile.TemporaryDirectory(prefix="rules-") as folder:
                return run_inside(
                    [sys.executable, "-m", _MODULE, "--inner", *arguments], {**os.environ, "TMPDIR": folder}
                )
        if given.browser is not None:
            _observe_one(given, rules)
        else:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            _observe_all(given, rules, arguments)
    except OriginsetError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


def _observe_one(given: argparse.Namespace, rules: list[str]) -> None:
    """One browser, with third-party cookies allowed and blocked, in a testbed of its own."""
    cells: list[stored.Cell] = []
    with (
        tempfile.TemporaryDirectory(prefix="originset-rules-") as folder,
        Testbed(rule_catalogue.combined_scenario(rules), Path(folder, "testbed"), given.latency) as testbed,
    ):
        latency = testbed.latency if testbed.latency == "none" else f"{testbed.latency}, by {testbed.latency_means}"
        for cookies in _COOKIES:
            version, more = observe_rules(
                testbed,
                rule_catalogue.rules_under(rules, cookies),
                given.browser,
                cookies,
                loads=given.loads,
                captures=given.captures,
                progress=partial(_print_progress, f"{given.browser}, third-party cookies {cookies}"),
            )
            cells += more
    given.to.write_bytes(msgspec.json.encode(_Seen(version, latency, tuple(cells))))


def _print_progress(column: str, done: int, of: int) -> None:
    if done % _NEWS_EVERY == 0 or done == of:
        sys.stderr.write(f"{column}: {done} of {of} loads\n")


def _observe_all(given: argparse.Namespace, rules: list[str], arguments: list[str]) -> None:
    def start(browser: stored.Browser) -> _Seen:
        to = Path(folder, browser)
        own = ["--browser", browser, "--to", str(to)]
        if (code := run_inside([sys.executable, "-m", _MODULE, *own, *arguments])) != 0:
            raise TestbedError(f"{browser} could not be observed (code {code})")
        return msgspec.json.decode(to.read_bytes(), type=_Seen)

    with tempfile.TemporaryDirectory(prefix="originset-rules-") as folder, ThreadPoolExecutor() as pool:
        columns = dict(zip(_BROWSERS, pool.map(start, _BROWSERS), strict=True))
    before = rule_catalogue.observations()
    seen = stored.Observations(
        versions={browser: column.version for browser, column in columns.items()},
        observed_on=dt.datetime.now(dt.UTC).date().isoformat(),
        latency=columns["chromium"].latency,
        loads=given.loads,
        cells=tuple(cell for column in columns.values() for cell in column.cells),
    )
    for line in differences(before, seen):
        sys.stdout.write(f"{line}\n")
    if given.out is not None:
        if any((given.out / f"{rule}.md").exists() for rule in set(rule_catalogue.rule_names()).difference(rules)):
            _require_comparable(before, seen)
        rule_catalogue.write_observations(seen, given.out)


def _require_comparable(before: stored.Observations, seen: stored.Observations) -> None:
    """Raises ``UsageError`` where some rules were observed in another way than the others, which stay as they are."""
    if (before.versions, before.loads, before.latency) != (seen.versions, seen.loads, seen.latency):
        raise UsageError("the other rules were observed with other browsers, loads or latency", "observe all")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
