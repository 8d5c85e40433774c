"""Node's http2: an ES module that exports the set and refuses a bad one when it is imported.

Node itself looks at ``origins`` only when the first connection comes, and then throws where nothing catches it. Its
check of the size leaves out the length fields, so that a set of many short origins passes it and then fails an
assertion below (v20: ``Http2Session::Origin``), which ends the process.
"""

from __future__ import annotations

import json

from originset.cli.writers.origin_set import OriginSet
from originset.models.origins import MAX_PAYLOAD_BYTES

_USE = """\
// Use it where the server is made. Key and certificate stay yours; the certificate must cover every host here:
//
//   import { createSecureServer } from "node:http2";
//   import { origins } from "./origins.mjs";
//   createSecureServer({ key, cert, allowHTTP1: true, origins }, answer).listen(443);
//
// The server must answer for all of these hosts, and any other with 421. To take it back, leave `origins` out of the
// options and restart. Node 12.17 or later; a file name that ends in .mjs, or "type": "module" in package.json.
"""

# What is checked is what an edit by hand may break: our own writer lets none of it through.
_CHECK = f"""\
const label = /^[a-z0-9]([a-z0-9-]{{0,61}}[a-z0-9])?$/;

function problem(origin) {{
  if (typeof origin !== "string") return "not a string";
  let url;
  try {{
    url = new URL(origin);
  }} catch {{
    return "not a URL";
  }}
  if (url.protocol !== "https:") return "not https";
  if (url.origin !== origin) return "not written as an origin, which is " + JSON.stringify(url.origin);
  const labels = url.hostname.split(".");
  if (!labels.every((part) => label.test(part)) || url.hostname.length > 253) return "not a host name";
  if (/^[0-9]+$/.test(labels[labels.length - 1])) return "an IP address";
  return null;
}}

function checked(list) {{
  let bytes = 0;
  for (const origin of list) {{
    const found = problem(origin);
    if (found !== null) throw new TypeError(`origins: ${{JSON.stringify(origin)}} is ${{found}}`);
    bytes += 2 + origin.length;
  }}
  if (list.length === 0) throw new RangeError("origins: the set is empty");
  if (new Set(list).size !== list.length) throw new RangeError("origins: an origin is there twice");
  if (bytes > {MAX_PAYLOAD_BYTES}) {{
    throw new RangeError(`origins: ${{bytes}} bytes, and an ORIGIN frame holds {MAX_PAYLOAD_BYTES}`);
  }}
  return Object.freeze(list);
}}
"""


def render(chosen: OriginSet) -> str:
    """The module's text, ASCII, with ``export const origins``, a frozen array of strings."""
    remarks = "".join(f"// {line}\n" for line in chosen.remarks())
    entries = "".join(f"  {json.dumps(origin)},\n" for origin in chosen.origins)
    return f"{remarks}//\n{_USE}\n{_CHECK}\nexport const origins = checked([\n{entries}]);\n"
