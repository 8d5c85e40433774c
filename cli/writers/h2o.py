"""h2o: the property ``http2-origin-frame`` of ``listen: ssl:``, as YAML."""

from __future__ import annotations

import json

from originset.cli.writers.origin_set import OriginSet

_USE = """\
# Belongs inside `listen: ssl:`, beside certificate-file and key-file; h2o takes it nowhere else:
#
#   listen:
#     port: 443
#     ssl:
#       certificate-file: ...
#       key-file: ...
#       http2-origin-frame: [...]
#
# h2o 2.3.0-beta2 or later; 2.2 refuses it as an unknown property. The certificate must cover every host here, and
# `hosts:` must answer for them. Check with `h2o -t -c FILE`. To take it back, remove the line and reload.
"""


def render(chosen: OriginSet) -> str:
    """The snippet's text, ASCII. The value is a flow sequence of double-quoted scalars, so JSON as well as YAML."""
    remarks = "".join(f"# {line}\n" for line in chosen.remarks())
    return f"{remarks}#\n{_USE}http2-origin-frame: {json.dumps(list(chosen.origins))}\n"
