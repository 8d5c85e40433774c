"""Which links of a landing page a crawl follows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from originset.crawler.crawl.frontier import chosen
from originset.crawler.crawl.politeness import is_excluded, site_of
from originset.crawler.crawl.site_list import parse_site
from originset.data.sanitising.url_redaction import redact_url

# Files that browsers download or show without a page around them.
_FILES = re.compile(
    r"\.(?:7z|apk|avi|bin|bz2|csv|deb|dmg|docx?|epub|exe|gif|gz|ico|iso|jpe?g|json|m4a|mov|mp3|mp4|mpe?g|msi|od[pst]"
    r"|ogg|pdf|pkg|png|pptx?|rar|rpm|rss|rtf|svg|tar|tgz|txt|wav|webm|webp|xlsx?|xml|xz|zip)\Z",
    re.IGNORECASE,
)


def internal_links(
    landed: str, links: Iterable[str], count: int, *, seed: int, site: str, excluded: frozenset[str]
) -> list[str]:
    """``count`` pages of the site that ``landed`` is on, chosen by ``seed``; fewer if there are not that many.

    Same site: the same registrable domain. The landing page itself, files, excluded hosts and links with secrets are
    none.
    """
    home = site_of(urlsplit(landed).hostname or "")
    found = set()
    for link in links:
        try:
            url = parse_site(link).url
        except ValueError:
            continue
        parts = urlsplit(url or "")
        host = parts.hostname or ""
        if url is None or site_of(host) != home or is_excluded(host, excluded):
            continue
        # A link with a secret would be kept in the capture and the ledger; what it leads to is somebody's own.
        if not _FILES.search(parts.path) and url != landed.partition("#")[0] and redact_url(url) == url:
            found.add(url)
    return chosen(seed, site, found, count)
