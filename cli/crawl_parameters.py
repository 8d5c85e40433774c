"""What the texts of ``crawl``'s options have to be."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

import click

from originset.crawler.crawl.site_list import parse_site

_CONTACT = re.compile(r"[\x21-\x27\x2a-\x7e]([\x20-\x27\x2a-\x7e]{0,198}[\x21-\x27\x2a-\x7e])?")


class Shard(click.ParamType[tuple[int, int]]):
    """The K-th of N parts of a list."""

    name = "K/N"

    def convert(
        self,
        value: str | tuple[int, int],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        match = re.fullmatch(r"([1-9]\d{0,5})/([1-9]\d{0,5})", value, re.ASCII)
        if match is None or int(match[1]) > int(match[2]):
            self.fail(f"{value!r} is not K/N with K from 1 to N, such as 2/8", param, ctx)
        return int(match[1]), int(match[2])


class KnownGood(click.ParamType[tuple[str, int]]):
    """A host and a port, 443 if none is given."""

    name = "HOST[:PORT]"

    def convert(
        self,
        value: str | tuple[str, int],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[str, int]:
        if isinstance(value, tuple):
            return value
        try:
            parts = urlsplit(f"https://{parse_site(value).name}/")
        except ValueError as error:
            self.fail(f"{value!r} is {error}", param, ctx)
        if "://" in value or parts.hostname is None:
            self.fail(f"{value!r} is not HOST or HOST:PORT", param, ctx)
        return parts.hostname, parts.port or 443


def contact(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    if value is not None and _CONTACT.fullmatch(value) is None:
        raise click.BadParameter("up to 200 printable ASCII characters without parentheses")
    return value


def vantage_address(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    try:
        return None if value is None else str(ipaddress.ip_address(value))
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
