"""The bodies of the testbed's resources, made from what the scenario says that each loads."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterator
from dataclasses import dataclass

from originset.crawler.testbed.scenario import Kind, Resource

# A font of ours with one glyph, a triangle for every ASCII character, 288 bytes of WOFF2.
_FONT = base64.b64decode(
    "d09GMgABAAAAAAEgAAoAAAAAA0gAAADWAAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAABmAAgXIKOEQBNgIkAwYLBgAEIAVjByAbmAIgLgbsFvnUNo5VkX9k"
    "aCzFrnUr8Tx03+/cufPbdm8owDSRABPb6KFlnhZI/NRtB0uyVrGKLIxxGEcOFghPQRo3Tt6kPJ0cB3o7BQIJBEoRtIgT+JZRzsOeiES059lG7RYOJnlg"
    "L3EsXwWWqYHiQQUPph9MU/C171hBzL/dCgNMDBzhBjBBpM27ZMxKUwVB+O58r/+ftH/w+/SBXaWtAULXDt3wVkK16QaCoQIGgLnpWUCcIGA4dqIyT8WN"
    "az3r4crjaydK5vur+2NrCYoYLSSfQRsKAAAA"
)
_PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
_SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16"><circle cx="8" cy="8" r="7"/></svg>'

# What a page's script may do; `late` waits until some time after the page's load event.
_SCRIPT = """\
const anonymous = (element, cors) => { if (cors) element.crossOrigin = "anonymous"; return element };
const script = (url, cors) => {
  const element = anonymous(document.createElement("script"), cors);
  element.src = url;
  document.head.append(element);
};
const image = (url, cors) => { document.body.append(Object.assign(anonymous(new Image(), cors), {src: url})) };
const get = (url, cors) => { fetch(url, {credentials: cors ? "same-origin" : "include"}).catch(() => {}) };
const late = (ms, load) => {
  if (document.readyState === "complete") setTimeout(load, ms);
  else addEventListener("load", () => setTimeout(load, ms));
};
"""


@dataclass(frozen=True)
class Body:
    """What is sent: a media type and its bytes."""

    media_type: str
    content: bytes


def body(resource: Resource) -> Body:
    """A resource's body; the same every time."""
    if resource.kind in ("page", "iframe"):
        return Body("text/html; charset=utf-8", _page(resource).encode())
    if resource.kind == "style":
        return Body("text/css; charset=utf-8", "".join(_rules(resource)).encode())
    if resource.kind == "script":
        return Body("text/javascript; charset=utf-8", _script(resource).encode())
    if resource.kind == "font":
        return Body("font/woff2", _FONT)
    if resource.kind == "fetch":
        return Body("application/json", json.dumps({"url": resource.url}).encode())
    return Body("image/png", _PNG) if resource.path.endswith(".png") else Body("image/svg+xml", _SVG.encode())


def _page(page: Resource) -> str:
    head = [f"<style>{''.join(_rules(page, kinds=('font',)))}</style>"]
    content = []
    for one in page.loads:
        url, cors = html.escape(one.url), " crossorigin" if one.crossorigin else ""
        if one.kind == "style":
            head.append(f'<link rel="stylesheet" href="{url}"{cors}>')
        elif one.kind == "script":
            content.append(f'<script src="{url}"{cors}></script>')
        elif one.kind == "image":
            content.append(f'<img src="{url}" alt=""{cors}>')
        elif one.kind == "iframe":
            content.append(f'<iframe src="{url}"></iframe>')
        elif one.kind == "fetch":
            content.append(f"<script>{{{_SCRIPT}{_statement(one)}}}</script>")
    # Browsers load a font or a background only where an element wants it.
    wanted = [one for child in (page, *page.loads) if child.kind in ("page", "iframe", "style") for one in child.loads]
    content += [f'<p class="{_label(one)}">{_label(one)}</p>' for one in wanted if one.kind in ("font", "image")]
    title = html.escape(page.host)
    # Without the empty icon, browsers would ask for /favicon.ico on some visits and not on others.
    icon = '<link rel="icon" href="data:,">'
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>{icon}{"".join(head)}</head>'
        f"<body><h1>{title}</h1>{''.join(content)}</body></html>"
    )


def _rules(parent: Resource, kinds: tuple[Kind, ...] = ("font", "image")) -> Iterator[str]:
    for one in parent.loads:
        if one.kind not in kinds:
            continue
        label = _label(one)
        if one.kind == "font":
            yield f'@font-face{{font-family:"{label}";src:url("{one.url}") format("woff2")}}'
            yield f'.{label}{{font-family:"{label}"}}'
        else:
            yield f'.{label}{{background-image:url("{one.url}")}}'


def _label(resource: Resource) -> str:
    return "x" + hashlib.sha256(resource.url.encode()).hexdigest()[:8]


def _script(script: Resource) -> str:
    return "{\n" + _SCRIPT + "\n".join(_statement(one) for one in script.loads) + "\n}\n"


def _statement(one: Resource) -> str:
    function = {"script": "script", "image": "image", "fetch": "get"}[one.kind]
    call = f"{function}({json.dumps(one.url)}, {json.dumps(one.crossorigin)})"
    return f"{call};" if one.after_ms is None else f"late({one.after_ms}, () => {call});"
