"""Observe the rules in a browser's version that a package has, and store what it did in the rules' files.

    python -m originset.crawler.testbed.rules.versions VERSION [RULE...] --out FOLDER [--loads N] [--flag FLAG...]

VERSION is such as chromium@88. Without RULEs all of them. Rules that FOLDER has of this version, flags and at least so
many loads are passed over, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from originset.crawler.testbed.namespace import run_inside
from originset.crawler.testbed.rules import rule_catalogue
from originset.crawler.testbed.rules.rule_observation import observe_with
from originset.crawler.testbed.rules.version_outcomes import VersionOutcome, version_outcomes
from originset.crawler.testbed.rules.versions.browser_packages import (
    BrowserPackage,
    default_cache,
    fetched_binary,
    package_of,
)
from originset.crawler.testbed.rules.versions.packaged_chromium import PackagedChromium
from originset.crawler.testbed.testbed import Testbed
from originset.data.errors import OriginsetError, UsageError

_MODULE = "originset.crawler.testbed.rules.versions"
# Rules that are stored at once. What a run that is stopped loses.
_BATCH = 26


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog=f"python -m {_MODULE}", description="Observe rules in another version.")
    parser.add_argument("version", metavar="VERSION", help="browser and version, such as chromium@88")
    parser.add_argument("rules", nargs="*", metavar="RULE", help="names of rules (default: all)")
    parser.add_argument("--loads", type=int, default=1, metavar="N", help="loads of each rule (default: 1)")
    parser.add_argument("--flag", action="append", default=[], metavar="FLAG", help="a flag for the browser; repeat")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where the rules' files are")
    parser.add_argument("--cache", type=Path, default=default_cache(), metavar="FOLDER", help="where browsers are kept")
    parser.add_argument("--inner", action="store_true", help=argparse.SUPPRESS)  # how this module starts itself again
    given = parser.parse_args(arguments)
    try:
        package = package_of(given.version)
        binary = fetched_binary(package, given.cache)
        if unknown := sorted(set(given.rules).difference(rule_catalogue.rule_names())):
            raise UsageError(f"there is no rule {unknown[0]}", "the rules are the files in crawler/testbed/rules/texts")
        if not given.inner:
            with tempfile.TemporaryDirectory(prefix="rules-") as folder:
                command = [sys.executable, "-m", _MODULE, "--inner", *arguments]
                return run_inside(command, {**os.environ, "TMPDIR": folder})
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        _observe_missing(given, package, binary)
    except OriginsetError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


def _observe_missing(given: argparse.Namespace, package: BrowserPackage, binary: Path) -> None:
    flags = tuple(given.flag)
    rules = [
        rule
        for rule in given.rules or rule_catalogue.rule_names()
        if not _is_stored(rule_catalogue.read_rule(rule, given.out).versions, package, flags, given.loads)
    ]
    for start in range(0, len(rules), _BATCH):
        batch = rules[start : start + _BATCH]
        _observe_batch(batch, package, binary, flags, given)
        sys.stderr.write(f"{package.title}: {start + len(batch)} of {len(rules)} rules\n")


def _is_stored(stored: Sequence[VersionOutcome], package: BrowserPackage, flags: tuple[str, ...], loads: int) -> bool:
    wanted = (package.browser, package.version, package.build, flags)
    return any((one.browser, one.version, one.build, one.flags) == wanted and one.loads >= loads for one in stored)


def _observe_batch(
    rules: Sequence[str], package: BrowserPackage, binary: Path, flags: tuple[str, ...], given: argparse.Namespace
) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="originset-rules-") as folder,
        Testbed(rule_catalogue.combined_scenario(rules), Path(folder, "testbed")) as testbed,
    ):
        driver = PackagedChromium(testbed, binary, package.build, flags)
        version, cells = observe_with(driver, testbed, rules, package.browser, "allowed", loads=given.loads)
    if version != package.version:
        raise UsageError(f"the package of {package.title} holds {version}", "correct packages.toml")
    today = dt.datetime.now(dt.UTC).date().isoformat()
    for cell in cells:
        outcomes = version_outcomes(cell, version, package.build, flags, today)
        rule_catalogue.write_version(cell.rule, outcomes, given.out)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
