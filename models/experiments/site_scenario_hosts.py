"""The hosts and certificates of a page as entries of a testbed's scenario."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any

import polars as pl
from msgspec.structs import replace

from originset.data.reference.special_purpose import is_public
from originset.data.scenario.entries import HOST_NAME, CertificateEntry, HostEntry, HttpsRecordEntry
from originset.models.plans.planned_connections import Deployment

Row = dict[str, Any]

_ORIGIN = re.compile(r"https?://([^:/]+)(:[1-9][0-9]{0,4})?")


class SiteHosts:
    """The entries of hosts and of their certificates; sentences on what is not known are added to ``left_out``."""

    def __init__(
        self, requests: list[Row], tables: Mapping[str, pl.DataFrame], deployed: Deployment, left_out: list[str]
    ) -> None:
        self.entries: dict[str, HostEntry] = {}
        self._requests = requests
        self._connections = tables["connections"].to_dicts()
        self._queries = tables["dns_queries"].filter(pl.col("rtype").is_in(["A", "AAAA"]))
        self._asns: dict[str, int | None] = dict(tables["addresses"].select("ip", "asn").iter_rows())
        self._names: defaultdict[str | None, set[str]] = defaultdict(set)
        for certificate_id, name in tables["certificate_names"].select("certificate_id", "name").iter_rows():
            if HOST_NAME.fullmatch(name.removeprefix("*.")):
                self._names[certificate_id].add(name)
        self._deployed = deployed
        self._left_out = left_out
        self.certificates: dict[tuple[str | None, ...], tuple[str, CertificateEntry]] = {}

    def add(self, name: str) -> None:
        """Add a host, if it can be in a testbed: it must have a name and a public address."""
        addresses = self._addresses(name)
        if not addresses or HOST_NAME.fullmatch(name) is None:
            return
        protocols = Counter(row["protocol"] for row in self._requests if row["host"] == name)
        http3 = protocols["h3"] > 0
        self.entries[name] = HostEntry(
            addresses=addresses,
            asn=self._asns.get(addresses[0]),
            certificate=self._certificate(name),
            protocol="http/1.1" if protocols["http/1.1"] > protocols["h2"] and not http3 else "h2",
            http3="advertised" if http3 else None,
            https_record=HttpsRecordEntry(["h3", "h2"]) if http3 else None,
            origin_set=self._origin_set(name),
            own_connection=any(name in (row["misdirected"] or ()) for row in self._connections),
        )

    def add_redirects(self, document: Row, used: Collection[str]) -> list[Row]:
        """Add the hosts that only redirect to the page; returns the first redirect of each, in their order."""
        first: dict[str, Row] = {}
        for row in self._requests:
            if is_redirect(row) and row["request_id"] < document["request_id"] and row["host"] not in used:
                first.setdefault(row["host"], row)
        for name in first:
            self.add(name)
        answered_redirects = [row for name, row in first.items() if name in self.entries]
        for name, next_host in pairwise(row["host"] for row in (*answered_redirects, document)):
            self.entries[name] = replace(self.entries[name], redirect=f"https://{next_host}/")
        return answered_redirects

    def _addresses(self, name: str) -> list[str]:
        answers = self._queries.filter(pl.col("host") == name)["answers"].drop_nulls().explode().to_list()
        # A foreign HAR has no answers, only where each request went.
        candidates = answers or [row["server_ip"] for row in self._requests if row["host"] == name]
        return [address for address in dict.fromkeys(candidates) if address is not None and _is_public(address)]

    def _origin_set(self, name: str) -> list[str] | None:
        if name in self._deployed.origins:
            return list(self._deployed.origins[name])
        own = (row["origin_set"] for row in self._connections if row["first_host"] == name)
        sent = next((entries for entries in own if entries is not None), None)
        return None if sent is None else list(filter(_is_origin, sent))

    def _certificate(self, name: str) -> str:
        """The key of the certificate that the host's own connections presented, or else of one that carried it."""
        own = [row for row in self._connections if row["first_host"] == name]
        carried = [row for row in self._connections if name in (row["hosts"] or ())]
        for row in (*own, *carried):
            if names := self._names[row["certificate_id"]]:
                return self._key(name, row["certificate_id"], sorted(names))
        self._left_out.append(f"the certificate of {printable_name(name)}, which is not known: it gets one of its own")
        return self._key(name, None, [name])

    def _key(self, host: str, certificate_id: str | None, names: list[str]) -> str:
        new = f"certificate-{len(self.certificates) + 1}", CertificateEntry(names)
        key, entry = self.certificates.setdefault((certificate_id, *names), new)
        if host in self._deployed.origins:
            entry.names.extend(name for name in self._deployed.names if name not in entry.names)
        return key


def is_redirect(row: Row) -> bool:
    """Whether the request was answered with a redirect."""
    return row["status"] is not None and 300 <= row["status"] < 400 and row["status"] != 304


def _is_public(address: str) -> bool:
    """Whether the text is a public address; answers of a name server may be other texts."""
    try:
        return is_public(address)
    except ValueError:
        return False


def _is_origin(text: str) -> bool:
    match = _ORIGIN.fullmatch(text)
    return match is not None and HOST_NAME.fullmatch(match[1]) is not None and int((match[2] or ":0")[1:]) < 1 << 16


def printable_name(name: str) -> str:
    """The name in a form that is safe in a comment and on a terminal."""
    return name if re.fullmatch(r"[a-z0-9_.-]+", name) else json.dumps(name)
