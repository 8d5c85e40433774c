"""certbot: a shell script that replaces the certificate by one with the full list of names."""

from __future__ import annotations

import shlex

from originset.cli.writers.name_list import NameList

_USE = """\
# Try it first:  sh FILE --dry-run   What you add goes to certbot: --webroot -w /var/www, --nginx, --dns-... as before.
# The list replaces the certificate's, so every name that it should hold is here. --cert-name is certbot's own name of
# the certificate, which `certbot certificates` shows: under any other certbot makes a second certificate. A second run
# changes nothing.
"""
# The list takes the place of the old one, also where it lacks a name (--expand takes supersets only, and asks for the
# rest); the same list is left as it is until it expires.
_OPTIONS = "--renew-with-new-domains --keep-until-expiring"
_WILDCARD = "# A wildcard is validated by DNS only: it needs one of certbot's --dns- plugins or --manual.\n"


def render(chosen: NameList, certificate_name: str | None) -> str:
    """The script's text, ASCII, for POSIX sh. ``certificate_name``: certbot's; None takes each one's first name.

    Raises:
        UsageError: ``certificate_name`` cannot be one.
    """
    parts = []
    for named, certificate in chosen.called(certificate_name, "certbot", "certbot certificates"):
        options = [f"-d {shlex.quote(name)}" for name in certificate.names]
        options += [f"--ip-address {shlex.quote(address)}" for address in certificate.addresses]
        parts.append(
            " \\\n  ".join([f'certbot certonly --cert-name {shlex.quote(named)} {_OPTIONS} "$@"', *options]) + "\n"
        )
    wildcards = any(name.startswith("*.") for certificate in chosen.certificates for name in certificate.names)
    remarks = "".join(f"# {line}\n" for line in chosen.remarks())
    return f"#!/bin/sh\n{remarks}#\n{_USE}{_WILDCARD if wildcards else ''}set -eu\n{''.join(parts)}"
