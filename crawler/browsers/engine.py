"""The browsers that a visit can be made with: where they are, what they are told at the start, how they are shut in."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from typing import Literal

from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.selenium_manager import SeleniumManager

from originset.crawler.settings import BrowserName, ThirdPartyCookies, VisitSettings
from originset.data.errors import MissingDependency

Sandbox = Literal["own", "nested user namespace", "none"]

_BINARIES: dict[BrowserName, tuple[str, ...]] = {
    "chromium": ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    # Debian's first: the one on the path is a script that stays between us and the browser.
    "headless-shell": (
        "/usr/lib/chromium/chromium-headless-shell",
        "chromium-headless-shell",
        "chrome-headless-shell",
    ),
    "firefox": ("firefox-esr", "firefox"),
}

_FOR_SELENIUM: dict[BrowserName, str] = {"chromium": "chrome", "firefox": "firefox"}

_PACKAGES: dict[BrowserName, str] = {
    "chromium": "chromium",
    "headless-shell": "chromium-headless-shell",
    "firefox": "firefox-esr",
}

# Chromium opens and looks up what hints ask for in a profile alone, not in the contexts that visits take place in.
_NO_HINTS = "preconnect and dns-prefetch do nothing in the fresh context of a visit; prefetch and preload do"

# What differs from a person's browser with its windows, as far as it shows in captures.
DIFFERENCES: dict[BrowserName, tuple[str, ...]] = {
    "chromium": (_NO_HINTS,),
    "headless-shell": (
        _NO_HINTS,
        "names are looked up by the system's resolver, A and AAAA alone: no HTTPS records, so no ECH, no HTTP/3 by DNS",
        "lookups have addresses but no TTLs, statuses or aliases on the way; attempts is one for each family and call",
        "no favicon, no connections on speculation",
        "pools and caches are parted by top-level site because flags say so",
        "the user agent holds the full version",
    ),
    "firefox": (
        "connections, their addresses and certificates, and lookups are not known",
        "requests of service workers and answers with 421 are not seen",
        "third-party cookies, where allowed, are kept apart for each top-level site",
        "whether requests carried credentials is not known",
    ),
}

# Traffic that is not the page's: updates, sign-in, suggestions, optimization hints, the automatic https:// of typed
# addresses (the crawl decides about schemes itself). None of them changes how a page's connections are pooled.
_COMMON = (
    "--disable-gpu",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    "--mute-audio",
    "--no-pings",
    "--password-store=basic",
    (
        "--disable-features="
        "HttpsUpgrades,HttpsFirstBalancedMode,HttpsFirstBalancedModeAutoEnable,OptimizationHints,"
        "OptimizationGuideModelDownloading,MediaRouter,Translate,InterestFeedContentSuggestions,"
        "CertificateTransparencyComponentUpdater,AutofillServerCommunication,"
        # Pages of the window itself, which every context opens one of: they took two thirds of a visit's CPU.
        "WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup,PreloadTopChromeWebUI,SpareRendererForSitePerProcess"
    ),
)
# Three minutes after its start Chromium begins two processes of 30 MB that find out how fast a language model would be,
# and stay. Disabled, the feature keeps its default delay; a longer one is the only switch that was found.
_NEVER = "LogOnDeviceMetricsOnStartup:on_device_startup_metric_delay/365d"
# What chromedriver gives browsers that it steers (chrome/test/chromedriver/chrome_launcher.cc), as far as pages notice:
# nothing slows down or asks because nobody looks at the window, and no page is loaded that was not asked for.
_AS_CHROMEDRIVER = (
    "--allow-pre-commit-input",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-features=IgnoreDuplicateNavs,Prewarm",
    "--disable-hang-monitor",
    "--disable-prompt-on-repost",
    "--enable-automation",
    "--test-type=webdriver",
)
# What moves in the window around a page takes several per cent of a visit's CPU. The switch is for the browser's own
# animations (ui/gfx/animation/linear_animation.cc); those of pages are as they were.
_NOTHING_MOVES = "--animation-duration-scale=0"
# Either shows pages 1280 by 800: what a window has around a page is not of it.
_OWN: dict[BrowserName, tuple[str, ...]] = {
    "chromium": ("--headless=new", "--window-size=1280,943", _NOTHING_MOVES, *_AS_CHROMEDRIVER),
    # It would write all that a page's console says to its stderr, which is a file of ours.
    "headless-shell": ("--window-size=1280,800", "--enable-logging=none"),
    "firefox": (),
}
# By default headless-shell has one pool and one cache for all top-level sites, and takes no preferences.
_PARTED = (
    "PartitionConnectionsByNetworkIsolationKey",
    "PartitionSSLSessionsByNetworkIsolationKey",
    "SplitHostCacheByNetworkIsolationKey",
    "SplitCacheByNetworkIsolationKey",
)
_COOKIES_BLOCKED = "ForceThirdPartyCookieBlockingEnabled"
_NESTED = ("unshare", "--user", "--map-user=1000", "--map-group=1000", "--")


def browser_flags(
    browser: BrowserName = "chromium",
    sandbox: Sandbox | None = None,
    third_party_cookies: ThirdPartyCookies = "allowed",
) -> tuple[str, ...]:
    """The flags that every browser of this kind gets. Chromium cannot sandbox a process of the superuser."""
    if browser == "firefox":
        return ()
    features = (
        (_NEVER,) if browser == "chromium" else (*_PARTED, *((_COOKIES_BLOCKED,) * (third_party_cookies == "blocked")))
    )
    enabled = f"--enable-features={','.join(features)}"
    unsafe = os.geteuid() == 0 if sandbox is None else sandbox == "none"
    return (*_OWN[browser], enabled, *_COMMON, *(("--no-sandbox",) if unsafe else ()))


def differences(settings: VisitSettings) -> tuple[str, ...]:
    """What differs from a person's browser: those of DIFFERENCES that hold with these settings."""
    return tuple(one for one in DIFFERENCES[settings.browser] if one != _NO_HINTS or not settings.profile_per_visit)


def find_binary(browser: BrowserName = "chromium") -> str:
    """The browser's path: by its names, or where Selenium Manager finds it on this machine.

    Raises:
        MissingDependency: it is not installed.
    """
    path = next((path for name in _BINARIES[browser] if (path := shutil.which(name))), None) or _found_by_selenium(
        browser
    )
    if path is None:
        package = _PACKAGES[browser]
        raise MissingDependency(package, f"apt-get install {package}")
    return path


def _found_by_selenium(browser: BrowserName) -> str | None:
    """Where Selenium Manager finds a browser that is not on the path; it fetches none."""
    if browser not in _FOR_SELENIUM:
        return None
    options = ["--browser", _FOR_SELENIUM[browser], "--offline", "--avoid-stats"]
    try:
        found = SeleniumManager().binary_paths(options).get("browser_path")
    except WebDriverException:
        return None
    return found or None


@cache
def sandbox() -> Sandbox:
    """How Chromium is shut in here: for the superuser in a user namespace where it is nobody, if it can be."""
    if os.geteuid() != 0:
        return "own"
    # Chromium's sandbox makes a namespace of its own within ours.
    within = ("unshare", "--user", "--map-root-user", "true")
    done = shutil.which("unshare") and subprocess.run([*_NESTED, *within], capture_output=True, check=False)
    return "nested user namespace" if done and done.returncode == 0 else "none"


def sandbox_command(kind: Sandbox) -> tuple[str, ...]:
    """What to put before a browser's command so that it can shut its processes in."""
    return _NESTED if kind == "nested user namespace" else ()
