"""Read a scenario from its TOML text; scenarios/*.toml explain every key."""

from __future__ import annotations

import ipaddress
import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from originset.crawler.probe.origin_frame import serialize_origin
from originset.crawler.testbed.scenario import HINTS, Certificate, Host, HttpsRecord, Resource, Scenario
from originset.data.errors import InputError
from originset.data.scenario.entries import (
    CHILDREN,
    DNS_ADDRESS,
    HOST_NAME,
    KINDS,
    LONGEST_BODY,
    CertificateEntry,
    Credentials,
    HostEntry,
    HttpsRecordEntry,
    Kind,
    ResourceEntry,
    SiteEntry,
)

_ALPN = re.compile(r"[a-z0-9./-]{1,32}")
_COOKIE = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ALT_SVC = re.compile(r"[A-Za-z0-9 ,;:=.\"-]{1,200}")
_FIELDS = {"as": "hinted", "bytes": "size"}  # keys that are no names of ours

# What Node's server leaves out; it speaks HTTP/2 whatever the protocol.
_NOT_NODE = ("http3", "redirect", "rough", "cookies", "origin_delay_ms", "origin_added")
_ORIGIN_ENTRY = re.compile(r"[!-~]{0,1024}")
_CREDENTIALS: dict[bool, Credentials] = {True: "same-origin", False: "include"}

# Which key may stand beside which kinds.
_BESIDE: dict[str, tuple[Kind, ...]] = {
    "as": ("prefetch", "preload"),
    "credentials": ("fetch", "xhr"),
    "crossorigin": ("style", "script", "image", "font", "fetch", "preconnect", "preload"),
    "status": ("style", "script", "image", "fetch", "xhr", "iframe"),
    "bytes": ("style", "script", "image", "font", "fetch", "xhr", "iframe"),
    "hangs": ("style", "script", "image", "fetch", "xhr", "iframe"),
}


_T = TypeVar("_T", bound=msgspec.Struct)


class _Unread(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file with its entries as TOML gives them: what is wrong with one can so be told with its place."""

    host: dict[str, object]
    certificate: dict[str, object] = {}
    site: dict[str, object] = {}
    missing: list[str] = []
    title: str = ""
    dns: str = DNS_ADDRESS


def built_in(name: str = "small_internet") -> Scenario:
    """A scenario that comes with originset, by its file's name without ``.toml``."""
    file = resources.files("originset.crawler.testbed") / "scenarios" / f"{name}.toml"
    return parse(file.read_text(encoding="utf-8"), f"{name}.toml")


def read(path: Path) -> Scenario:
    """A scenario from a file. Raises ``InputError`` naming the file and the place in it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(path), "unreadable", str(error)) from error
    return parse(text, str(path))


def parse(text: str, source: str = "scenario") -> Scenario:
    """A scenario from its text; ``source`` names it in errors. Raises ``InputError``."""
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is a ValueError
        raise InputError(source, "not-toml", str(error)) from error
    return from_tables(tables, source)


def from_tables(tables: object, source: str = "scenario") -> Scenario:
    """A scenario from the tables of its file. Raises ``InputError``."""
    return _Reader(source).scenario(tables)


class _Reader:
    """Turns TOML tables into a scenario; ``place`` is where an error would be."""

    def __init__(self, source: str) -> None:
        self._source = source

    def scenario(self, tables: object) -> Scenario:
        raw = self._convert(tables, _Unread, "file")
        scenario = Scenario(
            title=raw.title,
            dns_address=self._address(raw.dns, "dns"),
            certificates={name: self._certificate(name, one) for name, one in raw.certificate.items()},
            hosts={name: self._host(name, one) for name, one in raw.host.items()},
            sites=tuple(self._name(name, f'site."{name}"') for name in raw.site),
            missing=tuple(self._name(name, "missing") for name in raw.missing),
            pages=tuple(page for name, one in raw.site.items() if (page := self._page(name, one)) is not None),
            opens={name: url for name, one in raw.site.items() if (url := self._opens(name, one)) is not None},
        )
        self._check_pages(scenario)
        for host in scenario.hosts.values():
            self._check_host(scenario, host)
        return scenario

    def _certificate(self, key: str, table: object) -> Certificate:
        place = f"certificate.{key}"
        raw = self._convert(table, CertificateEntry, place)
        if re.fullmatch(r"[a-z0-9-]{1,64}", key) is None:  # it becomes a file's name
            raise self._wrong(place, "is not named with a-z, 0-9 and - alone")
        if not raw.names:
            raise self._wrong(place, "has no names")
        for name in raw.names:
            self._name(name.removeprefix("*."), place)  # an IPv4 address passes for one
        return Certificate(key, tuple(raw.names), raw.expired)

    def _host(self, name: str, table: object) -> Host:
        place = f'host."{name}"'
        raw = self._convert(table, HostEntry, place)
        verbatim = tuple(self._matching(_ORIGIN_ENTRY, one, f"{place}.origin_verbatim") for one in raw.origin_verbatim)
        if raw.origin_set is None and (verbatim or raw.origin_added or raw.origin_delay_ms):
            raise self._wrong(place, "says how its ORIGIN frame is sent, and has no origin_set")
        return Host(
            name=self._name(name, place),
            addresses=tuple(self._address(one, f"{place}.addresses") for one in raw.addresses),
            asn=raw.asn,
            certificate=raw.certificate,
            protocol=raw.protocol,
            origin_set=None if raw.origin_set is None else self._origins(raw.origin_set, f"{place}.origin_set"),
            origin_verbatim=verbatim,
            origin_added=self._origins(raw.origin_added, f"{place}.origin_added"),
            origin_delay_ms=raw.origin_delay_ms,
            implementation=raw.implementation,
            alias=raw.alias,
            own_connection=raw.own_connection,
            redirect=raw.redirect,
            delay_ms=raw.delay_ms,
            refuses=raw.refuses,
            unknown=raw.unknown,
            external=raw.external,
            http3=raw.http3,
            https_record=self._https_record(raw.https_record, place),
            alt_svc=None if raw.alt_svc is None else self._matching(_ALT_SVC, raw.alt_svc, f"{place}.alt_svc"),
            hsts=raw.hsts,
            cookies=tuple(self._matching(_COOKIE, one, f"{place}.cookies") for one in raw.cookies),
            rough=raw.rough,
        )

    def _origins(self, raw: list[str], place: str) -> tuple[str, ...]:
        try:
            return tuple(map(serialize_origin, raw))
        except ValueError as error:
            raise self._wrong(place, str(error)) from error

    def _https_record(self, raw: HttpsRecordEntry | None, place: str) -> HttpsRecord | None:
        if raw is None:
            return None
        if raw.port is not None and not 0 < raw.port < 65_536:
            raise self._wrong(f"{place}.https_record", f"{raw.port} is no port")
        if not raw.alpn:
            raise self._wrong(f"{place}.https_record", "has no alpn")
        return HttpsRecord(tuple(self._matching(_ALPN, one, f"{place}.https_record") for one in raw.alpn), raw.port)

    def _opens(self, name: str, table: object) -> str | None:
        place = f'site."{name}".opens'
        url = self._convert(table, SiteEntry, place).opens
        if url is not None and re.fullmatch(rf"https?://{re.escape(name)}/[A-Za-z0-9._/-]*", url) is None:
            raise self._wrong(place, f"{url!r} is not http(s)://{name}/PATH")
        return url

    def _page(self, name: str, table: object) -> Resource | None:
        place = f'site."{name}"'
        raw = self._convert(table, SiteEntry, place)
        if raw.loads is None:  # it redirects or fails
            return None
        host = self._name(name if raw.lands_on is None else raw.lands_on, place)
        loads = self._resources(raw.loads, "page", place)
        return Resource(
            "page", f"https://{host}/", loads=loads, bytes=self._size(raw.size or 0, place), wait_ms=raw.wait_ms
        )

    def _resources(self, raw: list[ResourceEntry], parent: Kind, place: str) -> tuple[Resource, ...]:
        return tuple(self._resource(one, parent, f"{place}.loads[{index}]") for index, one in enumerate(raw))

    def _resource(self, raw: ResourceEntry, parent: Kind, place: str) -> Resource:
        given: list[tuple[Kind, str]] = [(kind, url) for kind in KINDS if (url := getattr(raw, kind)) is not None]
        if len(given) != 1:
            raise self._wrong(place, f"needs exactly one of {', '.join(KINDS)}")
        kind, url = given[0]
        if kind not in CHILDREN.get(parent, ()):
            raise self._wrong(place, f"a {parent} cannot load a {kind}")
        self._check_keys(raw, kind, parent, place)
        crossorigin = kind in ("font", "fetch") if raw.crossorigin is None else raw.crossorigin
        return Resource(
            kind=kind,
            url=url if kind == "inline" else self._url(url, "wss" if kind == "websocket" else "https", place),
            crossorigin=crossorigin,
            after_ms=raw.after_ms,
            loads=self._resources(raw.loads, kind, place),
            hinted=raw.hinted,
            credentials=raw.credentials or _CREDENTIALS[crossorigin],
            status=raw.status or 200,
            hangs=bool(raw.hangs),
            cached=bool(raw.cached),
            bytes=self._size(raw.size or 0, place),
            wait_ms=raw.wait_ms,
        )

    def _check_keys(self, raw: ResourceEntry, kind: Kind, parent: Kind, place: str) -> None:
        given = {key for key in _BESIDE if getattr(raw, _FIELDS.get(key, key)) is not None}
        if wrong := {key for key in given if kind not in _BESIDE[key]}:
            raise self._wrong(place, f"{min(wrong)} does not go with {kind}")
        if kind in _BESIDE["as"] and raw.hinted is None:
            raise self._wrong(place, f"a {kind} needs as")
        if {"crossorigin", "credentials"} <= given:
            raise self._wrong(place, "has crossorigin and credentials, which say the same")
        if raw.status is not None and not 200 <= raw.status < 600:
            raise self._wrong(place, f"{raw.status} is no final status")
        if raw.after_ms is not None and parent != "script":
            raise self._wrong(place, "after_ms needs a script around it")
        if raw.cached is not None and parent != "worker":
            raise self._wrong(place, "cached needs a worker around it")

    def _size(self, size: int, place: str) -> int:
        if not 0 <= size <= LONGEST_BODY:
            raise self._wrong(f"{place}.bytes", f"{size} is not between 0 and {LONGEST_BODY}")
        return size

    def _url(self, url: str, scheme: str, place: str) -> str:
        if re.fullmatch(rf"{scheme}://[a-z0-9.-]+/[A-Za-z0-9._/-]*", url) is None:
            raise self._wrong(place, f"{url!r} is not {scheme}://HOST/PATH")
        parts = urlsplit(url)
        return f"{scheme}://{self._name(parts.netloc, place)}{parts.path}"

    def _check_pages(self, scenario: Scenario) -> None:
        for site in scenario.sites:
            if site not in scenario.names:
                raise self._wrong(f'site."{site}"', "is neither a host nor missing")
        seen: dict[tuple[str, str], Resource] = {}
        for page in scenario.pages:
            for one in page.walk():
                if one.kind == "inline":
                    continue
                if one.host not in scenario.names:
                    raise self._wrong(one.url, f"{one.host} is neither a host nor missing")
                if one.kind in HINTS or (one.kind == "link" and one.url in {page.url for page in scenario.pages}):
                    continue
                first = seen.setdefault((one.host, one.path), one)
                if (first.content, first.loads, first.status) != (one.content, one.loads, one.status):
                    raise self._wrong(one.url, "stands twice with different contents")

    def _check_host(self, scenario: Scenario, host: Host) -> None:
        place = f'host."{host.name}"'
        if not host.addresses:
            raise self._wrong(place, "has no addresses")
        if scenario.dns_address in host.addresses:
            raise self._wrong(place, f"{scenario.dns_address} is the DNS server's")
        if not host.refuses and host.certificate not in scenario.certificates:
            raise self._wrong(place, f"there is no certificate {host.certificate}")
        if host.implementation == "node" and any(getattr(host, key) for key in _NOT_NODE):
            raise self._wrong(place, f"Node's server has none of {', '.join(_NOT_NODE)}")
        if host.alias is not None:
            target = scenario.hosts.get(host.alias)
            # The addresses stand at both so that a reader sees what is served where.
            if target is None or target.addresses != host.addresses:
                raise self._wrong(place, f"its alias {host.alias} is not a host at the same addresses")
            if host.name in scenario.aliases_of(host.name):
                raise self._wrong(place, "is an alias of itself")
        if re.fullmatch(r"[0-9.]+", host.name) and host.addresses != (host.name,):
            raise self._wrong(place, "is an address, which has no other")
        self._check_sharing(scenario, host, place)

    def _check_sharing(self, scenario: Scenario, host: Host, place: str) -> None:
        for address in host.addresses:
            sharing = [scenario.hosts[name] for name in scenario.hosts_at(address)]
            if len({(one.refuses, one.external) for one in sharing}) > 1:
                raise self._wrong(place, f"some hosts at {address} refuse or are external, others not")
            if len({one.implementation for one in sharing}) > 1:
                raise self._wrong(place, f"the hosts at {address} are not all of one implementation")

    def _convert(self, table: object, kind: type[_T], place: str) -> _T:
        try:
            return msgspec.convert(table, kind)
        except msgspec.ValidationError as error:
            raise self._wrong(place, str(error)) from error

    def _name(self, name: str, place: str) -> str:
        if HOST_NAME.fullmatch(name) is None:
            raise self._wrong(place, f"{name!r} is not a host name in lower case of two labels or more")
        return name

    def _address(self, address: str, place: str) -> str:
        try:
            return str(ipaddress.ip_address(address))
        except ValueError as error:
            raise self._wrong(place, str(error)) from error

    def _matching(self, form: re.Pattern[str], text: str, place: str) -> str:
        if form.fullmatch(text) is None:
            raise self._wrong(place, f"{text!r} is not of the form {form.pattern}")
        return text

    def _wrong(self, place: str, problem: str) -> InputError:
        return InputError(self._source, "bad-scenario", f"{place}: {problem}")
