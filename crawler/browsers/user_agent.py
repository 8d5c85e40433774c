"""What the browser says it is: its own name, a phone's, and whom to ask about the visits."""

from __future__ import annotations

from typing import Any

from originset.crawler.browsers.devtools import DevTools
from originset.crawler.settings import Device

# A phone of the middle of the market: CSS pixels, device pixels for each of them.
_PHONE = {"width": 412, "height": 915, "deviceScaleFactor": 2.625, "mobile": True}
_SYSTEMS = {"desktop": "X11; Linux x86_64", "mobile": "Linux; Android 10; K"}
# Without a window Chromium calls itself so; its hints do not say it, and name no product of anybody's.
_NAMES = {"desktop": "HeadlessChrome", "mobile": "Chrome"}
_BRANDS = {"desktop": ("Not:A-Brand", "Chromium"), "mobile": ("Not:A-Brand", "Chromium", "Google Chrome")}


class BrowserIdentity:
    """How one browser presents itself. ``product`` is its own word, such as ``Chrome/156.0.8078.79``.

    A desktop without a contact is left as it is; with one, nothing but the contact is new.
    """

    def __init__(self, product: str, device: Device, contact: str | None) -> None:
        self._device = device
        self._contact = contact
        self._version = product.partition("/")[2]

    @property
    def user_agent(self) -> str:
        """The user agent, in the reduced form that Chromium gives it: the major version and zeros."""
        major = self._version.partition(".")[0]
        mobile = "Mobile " if self._device == "mobile" else ""
        name = _NAMES[self._device]
        contact = f" ({self._contact})" if self._contact else ""
        system = _SYSTEMS[self._device]
        return (
            f"Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) {name}/{major}.0.0.0 {mobile}Safari/537.36"
            f"{contact}"
        )

    def _hints(self) -> dict[str, Any]:
        """User-agent client hints that agree with the user agent; an override without them would send none."""
        major = self._version.partition(".")[0]
        mobile = self._device == "mobile"
        return {
            "brands": [{"brand": name, "version": "8" if "Not" in name else major} for name in _BRANDS[self._device]],
            "fullVersion": self._version,
            "platform": "Android" if mobile else "Linux",
            "platformVersion": "10.0.0" if mobile else "",
            "architecture": "" if mobile else "x86",
            "model": "K" if mobile else "",
            "mobile": mobile,
        }

    def put_on(self, devtools: DevTools, session: str) -> None:
        """Have a page, a frame of another process or a worker go by this name."""
        if self._device != "desktop" or self._contact is not None:
            devtools.send(
                "Network.setUserAgentOverride",
                session,
                userAgent=self.user_agent,
                userAgentMetadata=self._hints(),
            )

    def measure(self, devtools: DevTools, session: str) -> None:
        """Give a page the screen and the touch of the device."""
        if self._device == "mobile":
            devtools.send("Emulation.setDeviceMetricsOverride", session, **_PHONE)
            devtools.send("Emulation.setTouchEmulationEnabled", session, enabled=True, maxTouchPoints=5)
