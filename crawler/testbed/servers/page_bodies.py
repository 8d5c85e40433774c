"""The bodies of the testbed's resources, made from what the scenario says that each loads."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from originset.crawler.testbed.scenario import HINTS, Resource
from originset.data.scenario.entries import Kind

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
const get = (url, credentials) => { fetch(url, {credentials}).catch(() => {}) };
const xhr = (url, credentials) => {
  const request = new XMLHttpRequest();
  request.withCredentials = credentials === "include";
  request.open("GET", url);
  request.send();
};
const inline = (scheme) => {
  const text = '%s', type = "image/svg+xml";
  const blob = () => URL.createObjectURL(new Blob([text], {type}));
  image(scheme === "blob:" ? blob() : `data:${type},${encodeURIComponent(text)}`);
};
const socket = (url) => { const opened = new WebSocket(url); opened.onopen = () => opened.send("hello") };
const worker = async (url, load) => {
  const served = new Promise((go) => navigator.serviceWorker.addEventListener("controllerchange", go, {once: true}));
  await navigator.serviceWorker.register(url);
  await served;
  load();
};
const late = (ms, load) => {
  if (document.readyState === "complete") setTimeout(load, ms);
  else addEventListener("load", () => setTimeout(load, ms));
};
""".replace("%s", _SVG)

# A service worker that answers from its cache what it has there, and asks for everything else as if it were not there.
_WORKER = """self.addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(caches.open("kept").then((cache) => cache.addAll(%s)));
});
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  event.respondWith(caches.match(event.request).then((kept) => kept ?? fetch(event.request)));
});
"""


@dataclass(frozen=True)
class Body:
    """What is sent: a media type and its bytes."""

    media_type: str
    content: bytes


def resource_body(resource: Resource) -> Body:
    """A resource's body; the same every time, filled up to its size with what its readers pass over."""
    made = _body(resource)
    return Body(made.media_type, made.content + _filling(made.media_type, resource.bytes - len(made.content)))


def _filling(media_type: str, size: int) -> bytes:
    # After a document with hundreds of thousands of line ends Firefox's load event comes late or never.
    opened, closed = b"<!--", b"-->"
    if media_type.startswith("text/html") and size >= len(opened + closed):
        return opened + b" " * (size - len(opened + closed)) + closed
    return b"\n" * size


def _body(resource: Resource) -> Body:
    kind = resource.content
    if kind in ("page", "iframe"):
        return Body("text/html; charset=utf-8", _page(resource).encode())
    if kind in _TEXTS:
        media_type, text = _TEXTS[kind]
        return Body(media_type, text(resource).encode())
    if kind == "font":
        return Body("font/woff2", _FONT)
    if kind == "link":
        return Body("application/octet-stream", b"\0")
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
        elif one.kind == "link":
            content.append(f'<a href="{url}"{"" if url.endswith("/") else " download"}>{url}</a>')
        elif one.kind in HINTS:
            what = f' as="{one.hinted}"' if one.hinted else ""
            head.append(f'<link rel="{one.kind.replace("_", "-")}" href="{url}"{what}{cors}>')
        else:
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


def _worker(worker: Resource) -> str:
    return _WORKER.replace("%s", json.dumps([one.url for one in worker.loads if one.cached]))


def _statement(one: Resource) -> str:
    url = json.dumps(one.url)
    if one.kind == "worker":
        call = f"worker({url}, () => {{ {' '.join(_statement(each) for each in one.loads)} }})"
    elif one.kind in ("fetch", "xhr"):
        call = f"{'get' if one.kind == 'fetch' else 'xhr'}({url}, {json.dumps(one.credentials)})"
    elif one.kind in ("inline", "websocket"):
        call = f"{'inline' if one.kind == 'inline' else 'socket'}({url})"
    else:
        call = f"{one.kind}({url}, {json.dumps(one.crossorigin)})"
    return f"{call};" if one.after_ms is None else f"late({one.after_ms}, () => {call});"


_TEXTS: dict[Kind, tuple[str, Callable[[Resource], str]]] = {
    "style": ("text/css; charset=utf-8", lambda resource: "".join(_rules(resource))),
    "script": ("text/javascript; charset=utf-8", _script),
    "worker": ("text/javascript; charset=utf-8", _worker),
    "fetch": ("application/json", lambda resource: json.dumps({"url": resource.url})),
    "xhr": ("application/json", lambda resource: json.dumps({"url": resource.url})),
}
