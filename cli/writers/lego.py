"""lego: a shell script that renews the certificate with the full list of names."""

from __future__ import annotations

import shlex

from originset.cli.writers.name_list import NameList

_USE = """\
# For lego 5. What you add goes to lego: --email, --http, --dns ..., --path as before.
# lego has no --expand: `run` renews at once when the list differs from the certificate's, and --force-cert-domains
# makes this list the whole one. With lego 4: lego OPTIONS --domains ... renew --force-cert-domains --days 9999
"""


def render(chosen: NameList, certificate_name: str | None) -> str:
    """The script's text, ASCII, for POSIX sh. ``certificate_name``: lego's, its first domain unless told otherwise.

    Raises:
        UsageError: ``certificate_name`` cannot be one.
    """
    parts = []
    for named, certificate in chosen.called(certificate_name, "lego", "lego certificates list"):
        domains = [f"--domains {shlex.quote(name)}" for name in (*certificate.names, *certificate.addresses)]
        first = f'lego run --cert.name {shlex.quote(named)} --force-cert-domains "$@"'
        parts.append(" \\\n  ".join([first, *domains]) + "\n")
    remarks = "".join(f"# {line}\n" for line in chosen.remarks())
    return f"#!/bin/sh\n{remarks}#\n{_USE}set -eu\n{''.join(parts)}"
