"""What ways to start and steer Chromium save of a visit's CPU, and whether the recordings stay the same.

For each lever of ``visit_levers.py`` two browsers run at once, one with it and one without (the baseline). They visit
the testbed's sites in turn, one after the other, each in a control group of its own, so that whatever else the machine
does costs both alike. A visit's CPU is that of all processes of its browser, and ours meanwhile. The lever ``nothing``
is the baseline once more: it says how far to trust the others.

Fidelity is what the recordings of the two have in common, site by site (``recorded_visits.py``), in the worst aspect.
``frames`` is what a page sees of drawing: its frames of animation in 0.6 s, and what it can learn of its window.

``python bench_visit_levers.py [LEVER ...]`` runs ``ORIGINSET_BENCH_ROUNDS`` rounds (1 by default; a quarter of an hour)
of these levers or of all, and prints the table. Results are kept in ``ORIGINSET_BENCH_RESULTS`` if that names a file,
and what it holds already is not measured again: a run that was ended goes on.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import fmean, median
from typing import Any
from unittest.mock import patch

import cpu_of
from recorded_visits import ASPECTS, in_common, recording
from visit_levers import LEVERS, Lever

from originset.crawler.browsers import chromium as chromium_module
from originset.crawler.browsers.chromium import Chromium
from originset.crawler.browsers.devtools import DevTools
from originset.crawler.settings import VisitSettings
from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.namespace import in_namespace, run_inside
from originset.crawler.testbed.testbed import Testbed
from originset.crawler.visits.chromium_visit import visit
from originset.crawler.visits.visit_record import VisitRequest

ROUNDS = int(os.environ.get("ORIGINSET_BENCH_ROUNDS", "1"))
RESULTS = os.environ.get("ORIGINSET_BENCH_RESULTS")
SIDES = ("baseline", "lever")
FAILING = {"gone.test", "refused.test", "expired.test"}

WINDOW = """new Promise(done => {
  let frames = 0;
  const count = () => { frames++; requestAnimationFrame(count); };
  requestAnimationFrame(count);
  setTimeout(() => done([frames, document.visibilityState, document.hasFocus(), innerWidth, innerHeight,
    outerWidth, outerHeight, screen.width, screen.height, devicePixelRatio, navigator.webdriver,
    matchMedia('(prefers-reduced-motion)').matches]), 600);
})"""


class LeverChromium(Chromium):
    """A Chromium without those of our flags and features that its lever is without."""

    def __init__(self, settings: VisitSettings, lever: Lever) -> None:
        super().__init__(settings)
        self._without = lever.without

    @property
    def flags(self) -> tuple[str, ...]:
        kept = (flag for flag in super().flags if flag not in self._without)
        return tuple(self._with_features(flag) for flag in kept)

    def _with_features(self, flag: str) -> str:
        name, equals, features = flag.partition("=")
        if name != "--disable-features":
            return flag
        return name + equals + ",".join(one for one in features.split(",") if one not in self._without)


def lever_devtools(lever: Lever) -> type[DevTools]:
    """DevTools whose commands are changed by a lever."""

    class LeverDevTools(DevTools):
        def send(self, method: str, session: str | None = None, **params: Any) -> int:
            changed = lever.command(method, params)
            return 0 if changed is None else super().send(method, session, **changed)

    return LeverDevTools


@contextmanager
def measured_browser(lever: Lever, testbed_settings: dict[str, Any]) -> Iterator[tuple[Chromium, cpu_of.Group]]:
    """A browser that runs in a control group of its own, and the group."""
    flags = (*testbed_settings["extra_flags"], *lever.flags)
    settings = VisitSettings(**{**testbed_settings, "extra_flags": flags, **lever.settings})
    with cpu_of.group() as group:
        with ExitStack() as stack:
            group.join()
            try:
                with patch.object(chromium_module, "DevTools", lever_devtools(lever)):
                    browser = stack.enter_context(LeverChromium(settings, lever))
            finally:
                cpu_of.leave()
            yield browser, group
        group.wait(left=0)


def window_facts(browser: Chromium, url: str) -> list[Any]:
    """What a page sees of its window; the number of its frames first."""
    devtools = browser.devtools
    context = devtools.call("Target.createBrowserContext", disposeOnDetach=True)["browserContextId"]
    target = devtools.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
    session = devtools.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    devtools.call("Page.enable", session)
    devtools.call("Page.navigate", session, url=url)
    time.sleep(0.5)
    found = devtools.call("Runtime.evaluate", session, expression=WINDOW, awaitPromise=True, returnByValue=True)
    devtools.call("Target.disposeBrowserContext", browserContextId=context)
    return list(found["result"]["value"])


def visit_with_both(name: str, urls: Sequence[str], settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Each address visited without and with a lever: what each visit took, and its recording."""
    visits = []
    with ExitStack() as stack:
        sides = {
            side: stack.enter_context(measured_browser(lever, settings))
            for side, lever in zip(SIDES, (Lever(), LEVERS[name]), strict=True)
        }
        for browser, _ in sides.values():  # the first visit of a browser takes more than the others
            visit(browser, VisitRequest("0" * 16, "first", urls[0]))
        for number, url in enumerate(urls):
            for side in SIDES if number % 2 else reversed(SIDES):
                browser, group = sides[side]
                before, ours = group.seconds, time.process_time()
                captured = visit(browser, VisitRequest("0" * 16, url.split("/")[2], url))
                cpu = group.seconds - before + time.process_time() - ours
                visits.append({"lever": name, "side": side, "url": url, "cpu": cpu, **recording(*captured)})
        facts = {side: window_facts(browser, urls[0]) for side, (browser, _) in sides.items()}
    return [{**one, "window": facts[one["side"]]} for one in visits]


def bench(names: Sequence[str], results: Path) -> None:
    """Rounds of all levers; visits are added to the file as they are made."""
    done = [one["lever"] for one in stored_visits(results)]
    scenario = scenario_file.built_in()
    with tempfile.TemporaryDirectory() as folder, Testbed(scenario, Path(folder) / "testbed") as testbed:
        urls = [scenario.url_of(site) for site in testbed.sites if site not in FAILING]
        settings = {"environment": testbed.environment, "extra_flags": testbed.browser_flags}
        for number in range(1, ROUNDS + 1):
            for name in names:
                if done.count(name) < number * 2 * len(urls):
                    given = json.dumps({"name": name, "urls": urls, "settings": settings})
                    command = [sys.executable, __file__, "visits"]
                    ended = subprocess.run(command, input=given, text=True, stdout=subprocess.PIPE, check=False)
                    if ended.returncode != 0:
                        say(f"{name}: failed")
                        continue
                    with results.open("a") as file:
                        file.write(ended.stdout)


def stored_visits(results: Path) -> list[dict[str, Any]]:
    """The visits that a file of results holds; none if there is no such file."""
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def print_table(visits: Sequence[dict[str, Any]]) -> None:
    """A line for each lever, those first that save most."""
    baseline = [one for one in visits if one["side"] == "baseline"]
    say(f"baseline: {1000 * fmean(one['cpu'] for one in baseline):.0f} ms of CPU a visit, {len(baseline)} loads")
    by_lever: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in visits:
        by_lever[one["lever"]].append(one)
    lines = sorted(lever_line(name, found) for name, found in by_lever.items())
    for _, line in lines:
        say(line)


def lever_line(name: str, visits: Sequence[dict[str, Any]]) -> tuple[float, str]:
    """The ratio of a lever's CPU to the baseline's, and what is printed of it."""
    of = {side: [one for one in visits if one["side"] == side] for side in SIDES}
    ratio = sum(one["cpu"] for one in of["lever"]) / sum(one["cpu"] for one in of["baseline"])
    common = in_common(*([(one["url"], one) for one in of[side]] for side in reversed(SIDES)))
    aspect = min(ASPECTS, key=common.__getitem__)
    frames = {side: median(one["window"][0] for one in of[side]) for side in SIDES}
    window = "same" if of["lever"][0]["window"][1:] == of["baseline"][0]["window"][1:] else "other"
    measured = f"{name:57} {ratio:5.2f} {len(of['lever']):5} {100 * common[aspect]:6.1f} % {aspect:12}"
    return ratio, f"{measured} frames {frames['lever']:.0f} of {frames['baseline']:.0f}, window {window}"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    if sys.argv[1:] == ["visits"]:
        for one in visit_with_both(**json.load(sys.stdin)):
            say(json.dumps(one))
        return 0
    if not in_namespace():
        return run_inside([sys.executable, __file__, *sys.argv[1:]], os.environ)
    with tempfile.TemporaryDirectory() as folder:
        results = Path(RESULTS or f"{folder}/visits.jsonl")
        bench(sys.argv[1:] or list(LEVERS), results)
        print_table(stored_visits(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
