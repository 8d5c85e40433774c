"""``originset plan certificate``: the change of a site's certificate, for the tool that issues it."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import click
from cryptography import x509

from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.files import FILE, out_option, write_text
from originset.cli.common.output import note
from originset.cli.plan.plan_source import chosen_plan, plan_options
from originset.cli.writers import cert_manager, certbot, lego, names_json, signing_request
from originset.cli.writers.name_list import USUAL_LIMIT, NameList, choose
from originset.cli.writers.origin_set import quoted
from originset.data.certificate_errors import CERTIFICATE_ERRORS
from originset.data.errors import InputError, UsageError
from originset.data.host_names import covers
from originset.data.quantity import quantity
from originset.data.studies.study import Study
from originset.models.plans.origin_plan import Plan

_FORMATS = ("csr", "certbot", "lego", "lego4", "cert-manager", "json")
_NAMED: dict[str, Callable[[NameList, str | None], str]] = {
    "certbot": certbot.render,
    "lego": lego.render,
    "lego4": lego.render_4,
}
_PLAIN: dict[str, Callable[[NameList], str]] = {"cert-manager": cert_manager.render, "json": names_json.render}


@click.command(cls=Command)
@click.option(
    "--for",
    "target",
    required=True,
    type=click.Choice(_FORMATS),
    help="The tool that requests the certificate, or the format of the request.",
)
@plan_options
@click.option(
    "--current",
    type=FILE,
    metavar="PEM",
    help="Today's certificate, if the study does not know its names or they have changed. It must not "
    "have expired, and must be the site's.",
)
@click.option(
    "--max-names",
    type=click.IntRange(min=1),
    default=USUAL_LIMIT,
    show_default=True,
    metavar="N",
    help="How many names the CA takes in one certificate.",
)
@click.option(
    "--cert-name",
    metavar="NAME",
    help="For certbot and lego: the name by which they know the certificate.  [default: its first host name]",
)
@click.option(
    "--key",
    type=FILE,
    metavar="PEM",
    help="For csr: the private key that signs the request.",
)
@click.option(
    "--new-key",
    type=click.Path(path_type=Path),
    metavar="PEM",
    help="For csr: make a private key, and write it to this new file with mode 0600.",
)
@out_option
@study_option
@click.pass_obj
def command(
    study: Study,
    *,
    target: str,
    site: str | None,
    plan_path: Path | None,
    current: Path | None,
    max_names: int,
    cert_name: str | None,
    key: Path | None,
    new_key: Path | None,
    out: Path | None,
) -> None:
    """Write a request for a site's changed certificate.

    The request has all names of today's certificate, and those names of the plan that the site can validate itself.
    Names of other owners are listed on stderr and not requested.

    Example: originset --study S plan certificate --for certbot --site www.example.com --out change.sh
    """
    if [key, new_key].count(None) != (1 if target == "csr" else 2):
        raise click.UsageError("--for csr takes either --key or --new-key; nothing else takes any.")
    if cert_name is not None and target not in _NAMED:
        raise click.UsageError("--cert-name is for certbot and lego.")
    made = chosen_plan(study, site, plan_path)
    chosen = choose(made, None if current is None else _current_names(current, made), max_names)
    text = _render(target, chosen, cert_name, key, new_key)
    if out is None:
        click.echo(text, nl=False)
    else:
        write_text(out, text)
    for line in _remarks(chosen):
        note(line)
    if target in _NAMED and cert_name is None:
        note(f"the certificate is called {chosen.certificates[0].first} in the script; --cert-name gives another name")


def _render(target: str, chosen: NameList, cert_name: str | None, key: Path | None, new_key: Path | None) -> str:
    if target in _NAMED:
        return _NAMED[target](chosen, cert_name)
    if target in _PLAIN:
        return _PLAIN[target](chosen)
    if key is not None:
        return signing_request.render(chosen, signing_request.read_key(key))
    made = signing_request.new_key()
    if new_key is not None:
        _write_private(new_key, signing_request.key_text(made))
    return signing_request.render(chosen, made)


def _write_private(path: Path, content: bytes) -> None:
    """A new file that only its owner can read; an old one is never replaced, since a key lost is a certificate lost."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise UsageError(f"{path} cannot be made ({error.strerror})", "name a new file with --new-key") from error
    with os.fdopen(handle, "wb") as file:
        file.write(content)


def _current_names(path: Path, plan: Plan) -> list[str]:
    """Host names and addresses of the first certificate in a PEM file, which is to be the site's of today.

    Raises:
        InputError: it holds none, or one that has expired, or that is for another site.
    """
    certificate, names = _certificate(path)
    ended = certificate.not_valid_after_utc
    if ended < datetime.now(UTC):
        raise InputError(str(path), "expired", f"is a certificate that expired on {ended:%Y-%m-%d}; give today's")
    own = plan.servers[0].server if plan.servers else plan.site
    if not covers(names, own):
        raise InputError(str(path), "foreign", f"is a certificate that does not cover {quoted(own)}; give the site's")
    return names


def _certificate(path: Path) -> tuple[x509.Certificate, list[str]]:
    try:
        certificate = x509.load_pem_x509_certificates(path.read_bytes())[0]
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except OSError as error:
        raise InputError(str(path), "unreadable", f"cannot be read ({error.strerror})") from error
    except (*CERTIFICATE_ERRORS, IndexError) as error:
        raise InputError(str(path), "not-a-certificate", "holds no certificate in PEM") from error
    except x509.ExtensionNotFound as error:
        raise InputError(str(path), "no-names", "is a certificate without subject alternative names") from error
    names = [name.lower() for name in extension.get_values_for_type(x509.DNSName)]
    return certificate, names + [str(address) for address in extension.get_values_for_type(x509.IPAddress)]


def _remarks(chosen: NameList) -> list[str]:
    lines = [f"left out {quoted(name)}: {reason}" for name, reason in chosen.left_out]
    added = [name for certificate in chosen.certificates for name in certificate.added]
    lines.append(f"new: {', '.join(added)}" if added else "nothing new: the certificate has what the site can validate")
    if chosen.ask:
        shown = ", ".join(quoted(name) for name in chosen.ask[:3]) + (", ..." if len(chosen.ask) > 3 else "")
        lines.append(f"to ask others for, {quantity(len(chosen.ask), 'name')}: {shown}")
    if len(chosen.certificates) > 1:
        lines.append(f"{len(chosen.certificates)} certificates: names in different ones cannot share a connection")
    return lines
