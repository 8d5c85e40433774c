"""Latency in the testbed: round trips as on other access networks, by the kernel where it can, else by our relay."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from typing import Literal, get_args

LatencyProfile = Literal["none", "cable", "lte"]
PROFILES: tuple[LatencyProfile, ...] = get_args(LatencyProfile)
LatencyMeans = Literal["none", "netem", "relay"]

# Of WebPageTest's profiles Cable and LTE: round trips, and bits a second down to the browser and up from it.
ROUND_TRIP_MS: dict[LatencyProfile, int] = {"none": 0, "cable": 28, "lte": 70}
BANDWIDTH: dict[LatencyProfile, tuple[int, int]] = {"cable": (5_000_000, 1_000_000), "lte": (12_000_000, 12_000_000)}

# Loopback's own addresses carry what steers the browsers, which is to stay quick: all else goes through band 4.
_NETEM = """\
qdisc add dev lo root handle 1: prio bands 4 priomap 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3
qdisc add dev lo parent 1:4 handle 40: netem delay {delay_us}us limit 100000
filter add dev lo parent 1: protocol ip prio 1 u32 match ip dst 127.0.0.0/8 flowid 1:1
"""


def nearest_profile(round_trip_ms: float) -> LatencyProfile:
    """The access network whose round trips are nearest to these."""
    return min(ROUND_TRIP_MS, key=lambda profile: abs(ROUND_TRIP_MS[profile] - round_trip_ms))


def delay_by_kernel(stack: contextlib.ExitStack, profile: LatencyProfile) -> bool:
    """Delay every packet on the namespace's loopback by half a round trip until the stack ends; False if it cannot."""
    if shutil.which("tc") is None:
        return False
    remove = ["tc", "qdisc", "del", "dev", "lo", "root"]
    rules = _NETEM.format(delay_us=ROUND_TRIP_MS[profile] * 500)
    done = subprocess.run(["tc", "-batch", "-"], input=rules, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        subprocess.run(remove, capture_output=True, check=False)  # what of it was there before it failed
        return False
    stack.callback(subprocess.run, remove, capture_output=True, check=False)
    return True
