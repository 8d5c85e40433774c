"""Scenarios by name, and one of as many sites as are wanted, each with inner pages that its landing page links to."""

from __future__ import annotations

from pathlib import Path

from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.scenario import Certificate, Host, Resource, Scenario
from originset.data.scenario.entries import DNS_ADDRESS

#: The scenarios that come with originset.
BUILT_IN = ("thirty_sites", "small_internet", "captures", "rough")

# Of Cloudflare, Fastly, Google and Amazon, so that a real IP-to-AS table applies.
_NETWORKS = ("104.16.20", "151.101.20", "142.250.20", "18.160.20")
_SITES_AT_ONE_ADDRESS = 10
_INNER = ("about", "news", "shop")
# Hosts that pages of all sites load from, each in a network of its own.
_CDN, _FONTS, _STATISTICS = "cdn.labcdn.test", "fonts.labfonts.test", "js.labstats.test"


def scenario_named(name: str) -> Scenario:
    """A scenario that comes with originset, or one from a file.

    Raises:
        InputError: the file cannot be used.
    """
    if name == "thirty_sites":
        return many_sites(30)
    return scenario_file.built_in(name) if name in BUILT_IN else scenario_file.read(Path(name))


def many_sites(count: int) -> Scenario:
    """Sites ``www.site1.test`` and so on, of different registrable domains; IPv4 alone.

    Every second certificate covers all of a site's hosts. Every third site has its static host at another address.
    Every sixth sends an ORIGIN frame, which names the static host.
    """
    certificates: dict[str, Certificate] = {}
    hosts: dict[str, Host] = {}
    pages: list[Resource] = []
    for number, name in enumerate((_CDN, _FONTS, _STATISTICS)):
        certificates[f"shared{number}"] = Certificate(f"shared{number}", (name,))
        hosts[name] = Host(name, (f"{_NETWORKS[number]}.250",), certificate=f"shared{number}")
    for number in range(1, count + 1):
        www, static = (f"{label}.site{number}.test" for label in ("www", "static"))
        network, place = _NETWORKS[number % 4], number // 4 // _SITES_AT_ONE_ADDRESS % 100 + 1
        both = number % 2 == 0
        of_www = Certificate(f"www{number}", (www, static) if both else (www,))
        of_static = of_www if both else Certificate(f"static{number}", (static,))
        certificates |= {of_www.name: of_www, of_static.name: of_static}
        elsewhere = number % 3 == 0
        origins = (f"https://{static}",) if number % 6 == 0 else None
        hosts[www] = Host(www, (f"{network}.{place}",), certificate=of_www.name, origin_set=origins)
        hosts[static] = Host(static, (f"{network}.{place + 100 * elsewhere}",), certificate=of_static.name)
        pages += _pages(www, static, number)
    return Scenario(
        title=f"{count} sites",
        dns_address=DNS_ADDRESS,
        certificates=certificates,
        hosts=hosts,
        sites=tuple(f"www.site{number}.test" for number in range(1, count + 1)),
        pages=tuple(pages),
    )


def _pages(www: str, static: str, number: int) -> list[Resource]:
    """The landing page of a site, then its inner pages, which load less."""
    style = Resource("style", f"https://{static}/site.css", loads=(_font(),) if number % 2 else ())
    script = Resource("script", f"https://{_STATISTICS}/count.js")
    links = tuple(Resource("link", f"https://{www}/{inner}/") for inner in _INNER)
    landing = (style, Resource("image", f"https://{_CDN}/{number % 7}.png"), script, *links)
    inner_pages = [
        Resource("page", link.url, loads=(style, Resource("image", f"https://{static}/{inner}.png")))
        for link, inner in zip(links, _INNER, strict=True)
    ]
    return [Resource("page", f"https://{www}/", loads=landing), *inner_pages]


def _font() -> Resource:
    return Resource("font", f"https://{_FONTS}/sans.woff2", crossorigin=True)
