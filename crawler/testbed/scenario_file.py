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
from originset.crawler.testbed.scenario import Certificate, Host, HttpsRecord, Resource, Scenario
from originset.crawler.testbed.scenario_checks import bad_scenario, check_scenario
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
_FIELD_NAMES = {"as": "hinted", "bytes": "size"}  # keys that would be no good names in Python

_ORIGIN_ENTRY = re.compile(r"[!-~]{0,1024}")
_CREDENTIALS: dict[bool, Credentials] = {True: "same-origin", False: "include"}

# The kinds that each key may be given for.
_KINDS_OF_KEY: dict[str, tuple[Kind, ...]] = {
    "as": ("prefetch", "preload"),
    "credentials": ("fetch", "xhr"),
    "crossorigin": ("style", "script", "image", "font", "fetch", "preconnect", "preload"),
    "status": ("style", "script", "image", "fetch", "xhr", "iframe"),
    "bytes": ("style", "script", "image", "font", "fetch", "xhr", "iframe"),
    "hangs": ("style", "script", "image", "fetch", "xhr", "iframe"),
}


_T = TypeVar("_T", bound=msgspec.Struct)


class _ScenarioFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file with its entries as TOML gives them, so that an error can name the place of its entry."""

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
    """Turns TOML tables into a scenario; ``place`` names the entry in errors."""

    def __init__(self, source: str) -> None:
        self._source = source

    def scenario(self, tables: object) -> Scenario:
        raw = self._convert(tables, _ScenarioFile, "file")
        scenario = Scenario(
            title=raw.title,
            dns_address=self._address(raw.dns, "dns"),
            certificates={name: self._certificate(name, one) for name, one in raw.certificate.items()},
            hosts={name: self._host(name, one) for name, one in raw.host.items()},
            sites=tuple(self._name(name, f'site."{name}"') for name in raw.site),
            missing=tuple(self._name(name, "missing") for name in raw.missing),
            pages=tuple(page for name, one in raw.site.items() if (page := self._page(name, one)) is not None),
            opens={name: url for name, one in raw.site.items() if (url := self._url_to_open(name, one)) is not None},
        )
        check_scenario(scenario, self._source)
        return scenario

    def _certificate(self, key: str, table: object) -> Certificate:
        place = f"certificate.{key}"
        raw = self._convert(table, CertificateEntry, place)
        if re.fullmatch(r"[a-z0-9-]{1,64}", key) is None:  # it becomes a file's name
            raise self._error(place, "is not named with a-z, 0-9 and - alone")
        if not raw.names:
            raise self._error(place, "has no names")
        for name in raw.names:
            self._name(name.removeprefix("*."), place)  # an IPv4 address passes for one
        return Certificate(key, tuple(raw.names), raw.expired)

    def _host(self, name: str, table: object) -> Host:
        place = f'host."{name}"'
        raw = self._convert(table, HostEntry, place)
        verbatim = tuple(
            self._require_form(_ORIGIN_ENTRY, one, f"{place}.origin_verbatim") for one in raw.origin_verbatim
        )
        if raw.origin_set is None and (verbatim or raw.origin_added or raw.origin_delay_ms):
            raise self._error(place, "says how its ORIGIN frame is sent, and has no origin_set")
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
            alt_svc=None if raw.alt_svc is None else self._require_form(_ALT_SVC, raw.alt_svc, f"{place}.alt_svc"),
            hsts=raw.hsts,
            cookies=tuple(self._require_form(_COOKIE, one, f"{place}.cookies") for one in raw.cookies),
            rough=raw.rough,
        )

    def _origins(self, raw: list[str], place: str) -> tuple[str, ...]:
        try:
            return tuple(map(serialize_origin, raw))
        except ValueError as error:
            raise self._error(place, str(error)) from error

    def _https_record(self, raw: HttpsRecordEntry | None, place: str) -> HttpsRecord | None:
        if raw is None:
            return None
        if raw.port is not None and not 0 < raw.port < 65_536:
            raise self._error(f"{place}.https_record", f"{raw.port} is no port")
        if not raw.alpn:
            raise self._error(f"{place}.https_record", "has no alpn")
        return HttpsRecord(tuple(self._require_form(_ALPN, one, f"{place}.https_record") for one in raw.alpn), raw.port)

    def _url_to_open(self, name: str, table: object) -> str | None:
        place = f'site."{name}".opens'
        url = self._convert(table, SiteEntry, place).opens
        if url is not None and re.fullmatch(rf"https?://{re.escape(name)}/[A-Za-z0-9._/-]*", url) is None:
            raise self._error(place, f"{url!r} is not http(s)://{name}/PATH")
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
            raise self._error(place, f"needs exactly one of {', '.join(KINDS)}")
        kind, url = given[0]
        if kind not in CHILDREN.get(parent, ()):
            raise self._error(place, f"a {parent} cannot load a {kind}")
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
        given = {key for key in _KINDS_OF_KEY if getattr(raw, _FIELD_NAMES.get(key, key)) is not None}
        if wrong := {key for key in given if kind not in _KINDS_OF_KEY[key]}:
            raise self._error(place, f"{min(wrong)} does not go with {kind}")
        if kind in _KINDS_OF_KEY["as"] and raw.hinted is None:
            raise self._error(place, f"a {kind} needs as")
        if {"crossorigin", "credentials"} <= given:
            raise self._error(place, "has crossorigin and credentials, which say the same")
        if raw.status is not None and not 200 <= raw.status < 600:
            raise self._error(place, f"{raw.status} is no final status")
        if raw.after_ms is not None and parent != "script":
            raise self._error(place, "after_ms needs a script around it")
        if raw.cached is not None and parent != "worker":
            raise self._error(place, "cached needs a worker around it")

    def _size(self, size: int, place: str) -> int:
        if not 0 <= size <= LONGEST_BODY:
            raise self._error(f"{place}.bytes", f"{size} is not between 0 and {LONGEST_BODY}")
        return size

    def _url(self, url: str, scheme: str, place: str) -> str:
        if re.fullmatch(rf"{scheme}://[a-z0-9.-]+/[A-Za-z0-9._/-]*", url) is None:
            raise self._error(place, f"{url!r} is not {scheme}://HOST/PATH")
        parts = urlsplit(url)
        return f"{scheme}://{self._name(parts.netloc, place)}{parts.path}"

    def _convert(self, table: object, kind: type[_T], place: str) -> _T:
        try:
            return msgspec.convert(table, kind)
        except msgspec.ValidationError as error:
            raise self._error(place, str(error)) from error

    def _name(self, name: str, place: str) -> str:
        if HOST_NAME.fullmatch(name) is None:
            raise self._error(place, f"{name!r} is not a host name in lower case of two labels or more")
        return name

    def _address(self, address: str, place: str) -> str:
        try:
            return str(ipaddress.ip_address(address))
        except ValueError as error:
            raise self._error(place, str(error)) from error

    def _require_form(self, form: re.Pattern[str], text: str, place: str) -> str:
        if form.fullmatch(text) is None:
            raise self._error(place, f"{text!r} is not of the form {form.pattern}")
        return text

    def _error(self, place: str, problem: str) -> InputError:
        return bad_scenario(self._source, place, problem)
