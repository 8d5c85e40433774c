"""Read a scenario from its TOML text; scenarios/small_internet.toml shows and explains every key."""

from __future__ import annotations

import ipaddress
import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from originset.crawler.origin_frame import serialize_origin
from originset.crawler.testbed.scenario import KINDS, Certificate, Host, Kind, Protocol, Resource, Scenario
from originset.data.errors import InputError

_DNS_ADDRESS = "192.0.2.53"  # RFC 5737: no host of a scenario can want it
_HOST_NAME = re.compile(r"(?=.{3,253}$)(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))+")

# What may stand in what: a style sheet loads fonts and images, a script all that a page's script can.
_CHILDREN: dict[Kind, tuple[Kind, ...]] = {
    "page": KINDS,
    "iframe": KINDS,
    "style": ("font", "image"),
    "script": ("script", "image", "fetch"),
}


class _Raw(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The base of what stands in the file."""


class _RawCertificate(_Raw, frozen=True):
    names: list[str]
    expired: bool = False


class _RawHost(_Raw, frozen=True):
    addresses: list[str]
    asn: int | None = None
    certificate: str | None = None
    protocol: Protocol = "h2"
    origin_set: list[str] | None = None
    alias: str | None = None
    own_connection: bool = False
    redirect: str | None = None
    delay_ms: int = 0
    refuses: bool = False
    external: bool = False


class _RawResource(_Raw, frozen=True):
    style: str | None = None
    script: str | None = None
    image: str | None = None
    font: str | None = None
    fetch: str | None = None
    iframe: str | None = None
    crossorigin: bool | None = None
    after_ms: int | None = None
    loads: list[_RawResource] = []


class _RawSite(_Raw, frozen=True):
    lands_on: str | None = None
    loads: list[_RawResource] | None = None


class _RawScenario(_Raw, frozen=True):
    host: dict[str, object]
    certificate: dict[str, object] = {}
    site: dict[str, object] = {}
    missing: list[str] = []
    title: str = ""
    dns: str = _DNS_ADDRESS


_T = TypeVar("_T", bound=_Raw)


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
    except tomllib.TOMLDecodeError as error:
        raise InputError(source, "not-toml", str(error)) from error
    return _Reader(source).scenario(tables)


class _Reader:
    """Turns TOML tables into a scenario; ``place`` is where an error would be."""

    def __init__(self, source: str) -> None:
        self._source = source

    def scenario(self, tables: object) -> Scenario:
        raw = self._convert(tables, _RawScenario, "file")
        scenario = Scenario(
            title=raw.title,
            dns_address=self._address(raw.dns, "dns"),
            certificates={name: self._certificate(name, one) for name, one in raw.certificate.items()},
            hosts={name: self._host(name, one) for name, one in raw.host.items()},
            sites=tuple(self._name(name, f'site."{name}"') for name in raw.site),
            missing=tuple(self._name(name, "missing") for name in raw.missing),
            pages=tuple(page for name, one in raw.site.items() if (page := self._page(name, one)) is not None),
        )
        self._check_pages(scenario)
        for host in scenario.hosts.values():
            self._check_host(scenario, host)
        return scenario

    def _certificate(self, key: str, table: object) -> Certificate:
        place = f"certificate.{key}"
        raw = self._convert(table, _RawCertificate, place)
        if re.fullmatch(r"[a-z0-9-]{1,64}", key) is None:  # it becomes a file's name
            raise self._wrong(place, "is not named with a-z, 0-9 and - alone")
        if not raw.names:
            raise self._wrong(place, "has no names")
        for name in raw.names:
            self._name(name.removeprefix("*."), place)
        return Certificate(key, tuple(raw.names), raw.expired)

    def _host(self, name: str, table: object) -> Host:
        place = f'host."{name}"'
        raw = self._convert(table, _RawHost, place)
        try:
            origins = None if raw.origin_set is None else tuple(map(serialize_origin, raw.origin_set))
        except ValueError as error:
            raise self._wrong(f"{place}.origin_set", str(error)) from error
        return Host(
            name=self._name(name, place),
            addresses=tuple(self._address(one, f"{place}.addresses") for one in raw.addresses),
            asn=raw.asn,
            certificate=raw.certificate,
            protocol=raw.protocol,
            origin_set=origins,
            alias=raw.alias,
            own_connection=raw.own_connection,
            redirect=raw.redirect,
            delay_ms=raw.delay_ms,
            refuses=raw.refuses,
            external=raw.external,
        )

    def _page(self, name: str, table: object) -> Resource | None:
        place = f'site."{name}"'
        raw = self._convert(table, _RawSite, place)
        if raw.loads is None:  # it redirects or fails
            return None
        host = self._name(name if raw.lands_on is None else raw.lands_on, place)
        return Resource("page", f"https://{host}/", loads=self._resources(raw.loads, "page", place))

    def _resources(self, raw: list[_RawResource], parent: Kind, place: str) -> tuple[Resource, ...]:
        return tuple(self._resource(one, parent, f"{place}.loads[{index}]") for index, one in enumerate(raw))

    def _resource(self, raw: _RawResource, parent: Kind, place: str) -> Resource:
        given: list[tuple[Kind, str]] = [(kind, url) for kind in KINDS if (url := getattr(raw, kind)) is not None]
        if len(given) != 1:
            raise self._wrong(place, f"needs exactly one of {', '.join(KINDS)}")
        kind, url = given[0]
        if kind not in _CHILDREN.get(parent, ()):
            raise self._wrong(place, f"a {parent} cannot load a {kind}")
        parts = urlsplit(url)
        if re.fullmatch(r"https://[a-z0-9.-]+/[A-Za-z0-9._/-]*", url) is None:
            raise self._wrong(place, f"{url!r} is not https://HOST/PATH")
        if raw.after_ms is not None and parent != "script":
            raise self._wrong(place, "after_ms needs a script around it")
        return Resource(
            kind=kind,
            url=f"https://{self._name(parts.netloc, place)}{parts.path}",
            crossorigin=kind in ("font", "fetch") if raw.crossorigin is None else raw.crossorigin,
            after_ms=raw.after_ms,
            loads=self._resources(raw.loads, kind, place),
        )

    def _check_pages(self, scenario: Scenario) -> None:
        for site in scenario.sites:
            if site not in scenario.names:
                raise self._wrong(f'site."{site}"', "is neither a host nor missing")
        seen: dict[tuple[str, str], Resource] = {}
        for page in scenario.pages:
            for one in page.walk():
                if one.host not in scenario.names:
                    raise self._wrong(one.url, f"{one.host} is neither a host nor missing")
                first = seen.setdefault((one.host, one.path), one)
                if (first.kind, first.loads) != (one.kind, one.loads):
                    raise self._wrong(one.url, "stands twice with different contents")

    def _check_host(self, scenario: Scenario, host: Host) -> None:
        place = f'host."{host.name}"'
        if not host.addresses:
            raise self._wrong(place, "has no addresses")
        if scenario.dns_address in host.addresses:
            raise self._wrong(place, f"{scenario.dns_address} is the DNS server's")
        if not host.refuses and host.certificate not in scenario.certificates:
            raise self._wrong(place, f"there is no certificate {host.certificate}")
        if host.alias is not None:
            target = scenario.hosts.get(host.alias)
            # The addresses stand at both so that a reader sees what is served where.
            if target is None or target.alias is not None or target.addresses != host.addresses:
                raise self._wrong(place, f"its alias {host.alias} is not a host without alias at the same addresses")
        for address in host.addresses:
            sharing = [scenario.hosts[name] for name in scenario.hosts_at(address)]
            if len({(one.refuses, one.external) for one in sharing}) > 1:
                raise self._wrong(place, f"some hosts at {address} refuse or are external, others not")

    def _convert(self, table: object, kind: type[_T], place: str) -> _T:
        try:
            return msgspec.convert(table, kind)
        except msgspec.ValidationError as error:
            raise self._wrong(place, str(error)) from error

    def _name(self, name: str, place: str) -> str:
        if _HOST_NAME.fullmatch(name) is None:
            raise self._wrong(place, f"{name!r} is not a host name in lower case of two labels or more")
        return name

    def _address(self, address: str, place: str) -> str:
        try:
            return str(ipaddress.ip_address(address))
        except ValueError as error:
            raise self._wrong(place, str(error)) from error

    def _wrong(self, place: str, problem: str) -> InputError:
        return InputError(self._source, "bad-scenario", f"{place}: {problem}")
