"""What limits the recording of a page load in a NetLog: the words of ``visits.quality``."""

from __future__ import annotations

from originset.analysis.netlog.page_visits import PageVisit
from originset.data.captures.capture import UNNAMED, UNREAD
from originset.data.netlog.events import Constants
from originset.data.netlog.sockets import host_of


def recording_limits(visit: PageVisit, constants: Constants, *, cut_off: bool, unread: int) -> list[str]:
    """The words that apply; ``cut_off``: the file ends before its end; ``unread``: events that cannot be read."""
    network = [one for one in visit.exchanges if one.on_network]
    cached = [one for one in visit.exchanges if one.from_cache]
    sockets = [visit.sockets.get(one.sent.socket if one.sent.socket is not None else -1) for one in network]
    # Chromium begins to connect some ms before it makes the request, which is part of the load.
    opened_before = [one is not None and (one.established or visit.started) < visit.started for one in sockets]
    open_before_log = [one.sent.open_before_log for one in network]
    main = visit.main_exchanges
    cached_hosts = {host_of(one.sent.url) for one in cached} - {host_of(one.sent.url) for one in network}
    names = {number: name for number, name in constants.errors.items() if name == "net::ERR_NETWORK_CHANGED"}
    found = {
        "warm_sockets": any(opened_before) or any(open_before_log),
        "warm_start": bool(network) and (opened_before[0] or open_before_log[0]),
        "preserved_log": visit.earlier and any(opened_before),
        "cached": bool(cached),
        "cached_hosts": bool(cached_hosts),
        "truncated": cut_off and any(one.ended is None for one in visit.exchanges),
        "partial": not main or (main[-1].status is None and not main[-1].net_error),
        "no_connection_ids": bool(network) and all(one is None for one in sockets),
        "network_changed": any(one.net_error in names for one in visit.exchanges),
        UNNAMED: any(socket.host is None for socket in visit.sockets.values()),
        UNREAD: bool(unread),
    }
    return [name for name, applies in found.items() if applies]
