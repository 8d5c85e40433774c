"""Whether a visit failed for its site, or because the machine that made it had no network meanwhile."""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from originset.crawler.browsers.address_families import reachable_families
from originset.crawler.downloads.public_connection import connect_to_public
from originset.data.captures.capture import Visit

# What a lost network looks like in a visit. Whether it was lost is then found out.
_KINDS = frozenset({"dns", "connect", "timeout", "empty"})
# How many sites that loaded are asked, those of the latest visits: a network that is there reaches one of them, unless
# all of them turned us away since.
_REMEMBERED = 10
# So after so long a visit is tried, unless the servers that are asked were named for this.
_TRIAL_S = 300.0
# For resolving a name and connecting. Longer than a lookup whose first query is lost and sent again after 5 s.
_TIMEOUT_S = 8.0
# After so long without an answer the next one is asked as well.
_STAGGER_S = 0.3
_POLL_S = 0.2
# Between two looks during an outage.
_PAUSE_S = 5.0

Place = tuple[str, int]


class NetworkCheck:
    """What one machine knows of its network; shared by the threads of a crawl there.

    Without a network is who has no route to the internet, or reaches none of ``known_good``: (host, port). If nobody
    named any, they are the sites that loaded last, at public addresses only without ``allow_private``. Reached is what
    can be resolved and takes a TCP connection, over which nothing is sent.
    """

    def __init__(self, known_good: Sequence[Place] = (), *, allow_private: bool = False) -> None:
        self._connect = socket.create_connection if known_good or allow_private else connect_to_public
        self._named = tuple(known_good)
        self._loaded: deque[Place] = deque(maxlen=_REMEMBERED)
        self._lock = threading.Lock()
        self._probing = threading.Lock()
        # When the latest probe of each outcome began, and when the latest outage was seen to be over.
        self._began = {True: float("-inf"), False: float("-inf")}
        self._over = float("-inf")
        self._online = True

    def spoilt(self, visit: Visit, began: float) -> bool:
        """Whether there was no network during a visit that has just ended and ``began`` then (``time.monotonic``)."""
        if visit.status == "ok":
            self._loaded_one(visit, began)
        elif visit.error in _KINDS and not self.is_online():
            return True
        with self._lock:
            return not self._online or self._over > began

    def is_online(self) -> bool:
        """Whether there is a network, found out now; threads that ask together share one probe."""
        asked = time.monotonic()
        with self._probing:
            with self._lock:
                for online, began in self._began.items():
                    if began >= asked:
                        return online
                places = self._named or tuple(self._loaded)
            began = time.monotonic()
            online = reachable_families() is not None and (not places or self._is_any_reached(places))
            with self._lock:
                self._began[online] = began
                if online and not self._online:
                    self._over = time.monotonic()
                self._online = online
            return online

    def wait(self, ended: Callable[[], bool]) -> None:
        """Return once there is a network, or what asks for it has ``ended``, or a visit may show that there is one."""
        until = float("inf") if self._named else time.monotonic() + _TRIAL_S
        while not ended() and not self.is_online() and time.monotonic() < until:
            looked = time.monotonic()
            while time.monotonic() - looked < _PAUSE_S and not ended():
                time.sleep(_POLL_S)

    def _loaded_one(self, visit: Visit, began: float) -> None:
        place = _place_of(visit.final_url or visit.url)
        with self._lock:
            if not self._online and began > self._began[False]:
                self._online, self._over = True, began
            if place is not None and place not in self._loaded:
                self._loaded.append(place)

    def _is_any_reached(self, places: Sequence[Place]) -> bool:
        """Whether one of these can be connected to in time: the first as a rule, others where that takes long.

        A thread that a resolver keeps waiting is left to itself.
        """
        answered = threading.Event()

        def connect(place: Place) -> None:
            # A name with a label that IDNA refuses is a UnicodeError.
            with suppress(OSError, UnicodeError), self._connect(place, _TIMEOUT_S):
                answered.set()

        deadline = time.monotonic() + _TIMEOUT_S
        threads: list[threading.Thread] = []
        for place in places:
            threads.append(threading.Thread(target=connect, args=(place,), name="network check", daemon=True))
            threads[-1].start()
            if answered.wait(_STAGGER_S):
                return True
        while any(thread.is_alive() for thread in threads) and time.monotonic() < deadline:
            if answered.wait(_STAGGER_S):
                break
        return answered.is_set()


def _place_of(url: str) -> Place | None:
    parts = urlsplit(url)
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    return None if not host else (host, port or (80 if parts.scheme == "http" else 443))
