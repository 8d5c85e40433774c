"""What wrote a HAR, and what is peculiar to it.

A HAR's ``creator`` names the program; where several programs share a name, a trait of the file decides. Each rule was
read off files of that recorder (sums of phases against ``time``, ids against ports), or off its exporter's source.
"""

from __future__ import annotations

from dataclasses import dataclass

from originset.analysis.har.decoding.structs import Log


@dataclass(frozen=True, slots=True)
class Recorder:
    """A recorder, and the habits that its files are read by.

    ``connection_ids``: ``connection`` (or ``_connectionId``, or WebPageTest's ``_socket``) identifies connections.
    ``ssl_outside``: its ``connect`` ends where TLS begins; HAR 1.2 says that it includes TLS.
    ``zero_is_none``: it writes 0, not -1, for a phase that did not happen.
    ``protocol_made_up``: it writes HTTP/1.1 where nothing was answered over the network.
    ``started_when_sent``: its ``startedDateTime`` is when the request was sent, after blocked, dns and connect.
    ``cache_known``: it marks answers from the cache, so an unmarked one came from the network.
    ``extended``: it may have fields that only this program and WebPageTest write; for others they are not looked for.
    """

    name: str
    connection_ids: bool = True
    connections_inferred: bool = False
    ssl_outside: bool = False
    zero_is_none: bool = False
    protocol_made_up: bool = False
    started_when_sent: bool = False
    cache_known: bool = False
    extended: bool = False


OTHER = Recorder("other", extended=True)
ORIGINSET = Recorder("originset", cache_known=True, extended=True)
CHROME_DEVTOOLS = Recorder("chrome-devtools")
NETLOG = Recorder("netlog", cache_known=True, extended=True)  # Chromium's, which is no HAR
# WebPageTest's server and agent both write its load_start there (HttpArchiveGenerator.php, devtools_parser.py).
WEBPAGETEST = Recorder("webpagetest", connections_inferred=True, started_when_sent=True, extended=True)
SAFARI = Recorder("safari", cache_known=True)
CHROME_HAR = Recorder("chrome-har")
BROWSERTIME = Recorder("browsertime")

# Firefox and Firebug write the server's port into `connection`.
_BY_CREATOR: tuple[tuple[str, Recorder], ...] = (
    ("originset", ORIGINSET),
    ("webinspector", CHROME_DEVTOOLS),
    ("webkit web inspector", SAFARI),
    ("webpagetest", WEBPAGETEST),
    ("chrome har capturer", Recorder("chrome-har-capturer")),
    ("chrome-har", CHROME_HAR),
    ("browsertime", BROWSERTIME),
    (
        "firefox",
        Recorder("firefox", connection_ids=False, ssl_outside=True, zero_is_none=True, protocol_made_up=True),
    ),
    ("firebug", Recorder("firebug", connection_ids=False, zero_is_none=True)),
    ("playwright", Recorder("playwright", protocol_made_up=True)),
    ("charles", Recorder("charles", connection_ids=False)),
    ("fiddler", Recorder("fiddler")),
    ("mitmproxy", Recorder("mitmproxy", ssl_outside=True)),
    ("browsermob", Recorder("browsermob")),
    ("insomnia", Recorder("insomnia")),
    ("splash", Recorder("splash", zero_is_none=True)),
    ("lookyloo", Recorder("splash", zero_is_none=True)),
)

#: The names of all recorders.
RECORDERS = (*sorted({NETLOG.name, *(recorder.name for _, recorder in _BY_CREATOR)}), OTHER.name)


def detect_recorder(log: Log) -> Recorder:
    """The recorder of a HAR; ``other`` if it is not known."""
    name = (log.creator.name or "").strip().lower() if log.creator is not None else ""
    for prefix, recorder in _BY_CREATOR:
        if name.startswith(prefix):
            # browsertime has chrome-har write its HARs, and adds the browser, which chrome-har alone does not name.
            return BROWSERTIME if recorder is CHROME_HAR and log.browser is not None else recorder
    if any(entry.socket is not None for entry in log.entries[:20]):
        return WEBPAGETEST
    return OTHER


def recorder_version(log: Log, recorder: Recorder) -> str | None:
    """The recorder's own version, which can differ from that of the creator that wrote the file for it."""
    if log.creator is None or (recorder is BROWSERTIME and (log.creator.name or "").lower().startswith("chrome-har")):
        return None
    return log.creator.version


_BROWSERS = (
    ("headlesschrome", "chromium"),
    ("google chrome", "chromium"),
    ("chrom", "chromium"),
    ("edg", "chromium"),
    ("microsoft edge", "chromium"),
    ("firefox", "firefox"),
    ("nightly", "firefox"),
    ("safari", "safari"),
    ("webkit", "webkit"),
    ("qwebkit", "webkit"),
    ("internet explorer", "internet-explorer"),
)
_BROWSER_OF = {
    "chrome-devtools": "chromium",
    "chrome-har": "chromium",
    "chrome-har-capturer": "chromium",
    "firefox": "firefox",
    "firebug": "firefox",
    "safari": "safari",
}

#: The names of all browsers.
BROWSERS = (*dict.fromkeys(name for _, name in _BROWSERS), "other")


def browser(log: Log, recorder: Recorder) -> tuple[str | None, str | None]:
    """The browser's name and version, from the HAR or implied by the recorder; None if not known."""
    if log.browser is not None and log.browser.name:
        return named_browser(log.browser.name, log.browser.version)
    page = log.pages[0] if log.pages else None
    if page is not None and page.browser:  # WebPageTest
        return named_browser(page.browser, page.browser_version)
    return _BROWSER_OF.get(recorder.name), None


def named_browser(name: str | None, version: str | None) -> tuple[str | None, str | None]:
    """A browser by the name that it gave itself."""
    if not name:
        return None, None
    name = name.strip().lower()
    kind = next((kind for prefix, kind in _BROWSERS if name.startswith(prefix)), "other")
    return kind, version or None
