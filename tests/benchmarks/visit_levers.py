"""The levers of ``bench_visit_levers.py``: what may save CPU of a visit with Chromium."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Parameters = Mapping[str, Any]
Command = Callable[[str, Parameters], Parameters | None]


@dataclass(frozen=True)
class Lever:
    """``flags`` more, and flags or features of ours ``without``; ``settings``: fields of ``VisitSettings``.

    ``command`` gives the parameters that a DevTools command is sent with, or None for one that is not sent.
    """

    flags: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    command: Command = lambda _method, parameters: parameters
    settings: Parameters = field(default_factory=dict)


def _page_opened_with(**more: object) -> Command:
    def changed(method: str, parameters: Parameters) -> Parameters:
        is_page = method == "Target.createTarget" and "browserContextId" in parameters
        return {**parameters, **more} if is_page else parameters

    return changed


def _not_sent(name: str) -> Command:
    return lambda method, parameters: None if method == name else parameters


_NETWORK_IN_PROCESS = "--enable-features=NetworkServiceInProcess2"
_SHELL: Parameters = {"browser": "headless-shell"}
_THROTTLING = ("--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows")

LEVERS: dict[str, Lever] = {
    "nothing": Lever(),
    # Drawing of the page and of the window around it
    "windows animated": Lever(("--animation-duration-scale=1",)),
    "no infobar": Lever(("--disable-infobars", "--window-size=1280,887")),
    "GPU allowed": Lever(without=("--disable-gpu",)),
    "no software GL": Lever(("--disable-software-rasterizer",)),
    "no thread for compositing": Lever(("--disable-threaded-compositing",)),
    "one raster thread": Lever(("--num-raster-threads=1",)),
    "no frame rate limit": Lever(("--disable-frame-rate-limit",)),
    "images not loaded": Lever(("--blink-settings=imagesEnabled=false",)),
    "begin-frame control": Lever(("--enable-begin-frame-control",), settings=_SHELL),
    # Processes
    "network service in the browser's process": Lever((_NETWORK_IN_PROCESS,)),
    "GPU in the browser's process": Lever(("--in-process-gpu",)),
    "both in the browser's process": Lever(("--in-process-gpu", _NETWORK_IN_PROCESS)),
    "sites share processes": Lever(
        ("--disable-site-isolation-trials", "--disable-features=IsolateOrigins,site-per-process")
    ),
    "a process for each site": Lever(("--process-per-site",)),
    "at most one renderer": Lever(("--renderer-process-limit=1",)),
    "spare renderer": Lever(without=("SpareRendererForSitePerProcess",)),
    "no zygote without sandbox": Lever(("--no-unsandboxed-zygote",)),
    "no sandbox": Lever(("--no-sandbox",)),
    "headless-shell": Lever(settings=_SHELL),
    "headless-shell, network service in the browser's process": Lever((_NETWORK_IN_PROCESS,), settings=_SHELL),
    # How a page is opened
    "hidden target": Lever(command=_page_opened_with(hidden=True)),
    "target of one context, warm": Lever(settings={"profile_per_visit": True}),
    "no startup window": Lever(("--no-startup-window",)),
    "not told to be automated": Lever(without=("--enable-automation",)),
    # What tells
    "NetLog of everything": Lever(("--net-log-capture-mode=Everything",)),
    "no Inspector domain": Lever(command=_not_sent("Inspector.enable")),
    # Scripts, timers, caches, connections
    "no optimising compilers": Lever(("--js-flags=--max-lazy --no-opt --no-sparkplug",)),
    "V8 with one thread": Lever(("--js-flags=--single-threaded",)),
    "timers throttled": Lever(without=_THROTTLING),
    "no back/forward cache": Lever(("--disable-back-forward-cache",)),
    "disk cache of one byte": Lever(("--disk-cache-size=1", "--media-cache-size=1")),
    "private addresses not refused": Lever(settings={"allow_private": True}),
}
