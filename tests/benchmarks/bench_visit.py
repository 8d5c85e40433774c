"""What a visit costs, everything captured: CPU seconds of ours and of what else records pages, the same pages, one run.

Each opens the testbed's sites in turn, launches included, and all of its processes count (``cpu_of.py``). The floor is
``chromium --headless --dump-dom``, a process for each visit, which records nothing. Playwright and browsertime are
fetched from the npm registry into a temporary folder; where that cannot be had, the bench says so and goes on.
CPU seconds, not times: a busy machine makes them larger, for all alike. ``ORIGINSET_BENCH_VISITS``: 50 by default;
``ORIGINSET_BENCH_PACKAGES``: a folder that has the packages already. Takes a quarter of an hour, mostly browsertime's.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from originset.crawler.browsers.engine import find_binary
from originset.crawler.settings import BrowserName, VisitSettings
from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.namespace import in_namespace, run_inside
from originset.crawler.testbed.testbed import Testbed
from originset.crawler.visits.visit_browsers import browser_for, visit
from originset.crawler.visits.visit_record import VisitRequest
from originset.data.captures.capture import write_capture

VISITS = int(os.environ.get("ORIGINSET_BENCH_VISITS", "50"))
GIVEN = os.environ.get("ORIGINSET_BENCH_PACKAGES")
PACKAGES = Path(GIVEN or "packages")
FAILING = {"gone.test", "refused.test", "expired.test"}
FLOOR = "chromium --dump-dom, a process a visit"
HERE = Path(__file__).resolve().parent

PLAYWRIGHT = """
const { chromium } = require("playwright-core");
(async () => {
  const [folder, executablePath, ...urls] = process.argv.slice(2);
  const browser = await chromium.launch({ executablePath, headless: true, chromiumSandbox: false });
  for (const [number, url] of urls.entries()) {
    const context = await browser.newContext({ recordHar: { path: `${folder}/${number}.har`, content: "omit" } });
    const page = await context.newPage();
    await page.goto(url, { waitUntil: "networkidle" });
    await context.close();
  }
  await browser.close();
})();
"""
BROWSERTIME = (
    *("--headless", "--chrome.chromedriverPath", "/usr/bin/chromedriver", "--chrome.binaryPath"),
    *(
        "/usr/lib/chromium/chromium",
        "--chrome.args",
        "no-sandbox",
        "--visualMetrics",
        "false",
        "--video",
        "false",
        "--pageCompleteWaitTime",
        "0",
    ),
)


@dataclass(frozen=True)
class Contender:
    """Who is measured: a command for some addresses and a folder to write to, and what counts what it recorded."""

    name: str
    command: Callable[[list[str], Path], list[str]]
    recorded: Callable[[Path], int] | None
    bar: float | None = None  # most that ours may take of it


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def ours(browser: BrowserName, folder: Path, urls: list[str]) -> None:
    """Visits, in a process of its own."""
    home = {name: os.environ[name] for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")}
    with browser_for(VisitSettings(browser=browser, environment=home)) as running:
        for number, url in enumerate(urls):
            site = url.split("/")[2]
            har_log, extension = visit(running, VisitRequest(f"{number:016x}", site, url))
            if extension.visit.status != "ok":
                raise SystemExit(f"{url}: {extension.visit.status}, {extension.visit.error_code}")
            write_capture(folder, har_log, extension)


def process_a_visit(binary: str) -> Callable[[list[str], Path], list[str]]:
    """A shell that starts a browser for each address, each with a profile of its own."""
    flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking"
    script = f'for url; do {binary} {flags} --user-data-dir="$(mktemp -d -p "$FOLDER")" --dump-dom "$url"; done'
    return lambda urls, folder: ["env", f"FOLDER={folder}", "sh", "-c", f"{{ {script}; }} >$FOLDER/out", "sh", *urls]


def own(browser: BrowserName) -> Callable[[list[str], Path], list[str]]:
    return lambda urls, folder: [sys.executable, "-P", __file__, "ours", browser, str(folder), *urls]


def playwright(urls: list[str], folder: Path) -> list[str]:
    script = PACKAGES / "record.js"
    script.write_text(PLAYWRIGHT)
    return ["node", str(script), str(folder), find_binary("chromium") or "", *urls]


def browsertime(urls: list[str], folder: Path) -> list[str]:
    """As many iterations of each address as it has visits: given several addresses, it would keep its browser."""
    program = shlex.join(["node", str(PACKAGES / "node_modules/browsertime/bin/browsertime.js"), *BROWSERTIME])
    runs = [
        f"{program} -n {count} --resultDir {folder}/{n} {url}" for n, (url, count) in enumerate(Counter(urls).items())
    ]
    return ["sh", "-ec", "; ".join(runs)]


def captures(folder: Path) -> int:
    return len(list(folder.glob("*/*.har.zst")))


def hars(folder: Path) -> int:
    return sum(len(json.loads(path.read_bytes())["log"]["pages"]) for path in folder.rglob("*.har"))


def contenders() -> list[Contender]:
    found = [
        Contender("ours, chromium", own("chromium"), captures),
        Contender(FLOOR, process_a_visit(find_binary("chromium") or ""), None, 0.6),
    ]
    if shutil.which("chromium-headless-shell"):
        found.append(Contender("ours, headless-shell", own("headless-shell"), captures))
    else:
        say("chromium-headless-shell is not installed: left out")
    for name, command, package, bar in (
        ("Playwright record_har, a context a visit", playwright, "playwright-core", 1.2),
        ("browsertime", browsertime, "browsertime", 0.3),
    ):
        if (PACKAGES / "node_modules" / package).is_dir():
            found.append(Contender(name, command, hars, bar))
        else:
            say(f"{name}: {package} could not be installed from the npm registry, left out")
    return found


class Failed(Exception):
    """A contender did not do its work."""


def measured(contender: Contender, urls: list[str], environment: dict[str, str]) -> float:
    """CPU seconds. Raises ``Failed``."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        ended = subprocess.run(
            [sys.executable, "-P", str(HERE / "cpu_of.py"), *contender.command(urls, folder)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode != 0:
            raise Failed(f"it failed:\n{ended.stdout[-2000:]}\n{ended.stderr[-2000:]}")
        if contender.recorded is not None and contender.recorded(folder) != len(urls):
            raise Failed(f"it recorded {contender.recorded(folder)} of {len(urls)} visits")
        return float(ended.stdout.splitlines()[-1])


def bench() -> None:
    with tempfile.TemporaryDirectory() as name, Testbed(scenario_file.built_in(), Path(name) / "testbed") as testbed:
        sites = [site for site in testbed.sites if site not in FAILING]
        urls = [f"https://{sites[number % len(sites)]}/" for number in range(VISITS)]
        seconds: dict[str, float] = {}
        found = contenders()
        for one in found:
            try:
                seconds[one.name] = measured(one, urls, testbed.environment) / VISITS
            except Failed as failure:
                if one.bar is None:
                    raise SystemExit(str(failure)) from failure
                say(f"{one.name} is left out: {failure}")
                continue
            say(f"{one.name:42} {seconds[one.name]:6.3f} CPU-s a visit")
    for one in found:
        if one.bar is not None and one.name in seconds:
            say(f"ours / {one.name}: {seconds['ours, chromium'] / seconds[one.name]:.2f} (at most {one.bar})")
    if "ours, headless-shell" in seconds and FLOOR in seconds:
        ratio = seconds["ours, headless-shell"] / seconds[FLOOR]
        say(f"ours with headless-shell / {FLOOR}: {ratio:.2f} (at most 0.25)")


def fetch_packages(folder: Path) -> None:
    """What is measured against, where it can be had; without it the rest is measured all the same."""
    for package in ("playwright-core", "browsertime@26.2.0"):
        options = ("--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder))
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(["npm", "install", *options, package], capture_output=True, check=False, timeout=300)


def main() -> int:
    if sys.argv[1:2] == ["ours"]:
        kind: BrowserName = "headless-shell" if sys.argv[2] == "headless-shell" else "chromium"
        ours(kind, Path(sys.argv[3]), sys.argv[4:])
        return 0
    if in_namespace():
        bench()
        return 0
    with tempfile.TemporaryDirectory() as folder:
        if GIVEN is None:
            fetch_packages(Path(folder))
        return run_inside([sys.executable, "-P", __file__], {**os.environ, "ORIGINSET_BENCH_PACKAGES": GIVEN or folder})


if __name__ == "__main__":
    sys.exit(main())
