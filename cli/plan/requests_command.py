"""``originset plan requests``: a request for each certificate of a rollout, in a folder for each ring."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import polars as pl

from originset.cli.common.command_tree import Command
from originset.cli.common.files import FILE, make_folder, write_text
from originset.cli.common.output import note
from originset.cli.writers import cert_manager, certbot, lego, signing_request
from originset.cli.writers.name_list import NameList, changed
from originset.cli.writers.origin_set import quoted
from originset.data.errors import InputError, UsageError
from originset.models.plans.inventory.inventory_files import read_inventory
from originset.models.plans.inventory.rollout import Change
from originset.models.plans.inventory.rollout_file import read_rollout
from originset.models.plans.origin_plan import counted
from originset.queries.csv_text import csv_text

_ENDINGS = {"csr": "csr", "certbot": "sh", "lego": "sh", "lego4": "sh", "cert-manager": "yaml"}
_INDEX = pl.Schema(
    {
        "ring": pl.Int64(),
        "group": pl.String(),
        "certificate": pl.String(),
        "file": pl.String(),
        "names": pl.Int64(),
        "added": pl.List(pl.String()),
        "problem": pl.String(),
    }
)
# What Kubernetes takes for a resource's name, and every file system for a file's (RFC 1123 section 2.1).
_NO_NAME = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 50


@click.command(cls=Command)
@click.argument("rollout", type=FILE)
@click.option("--inventory", type=FILE, required=True, metavar="FILE", help="The certificates, as for plan inventory.")
@click.option(
    "--for",
    "target",
    required=True,
    type=click.Choice(list(_ENDINGS)),
    help="The tool that requests the certificates, or csr: a request and its new private key each.",
)
@click.option("--issuer", metavar="NAME", help="For cert-manager: the issuer.")
@click.option(
    "--issuer-kind",
    type=click.Choice(["ClusterIssuer", "Issuer"]),
    default="ClusterIssuer",
    show_default=True,
    help="For cert-manager: what the issuer is.",
)
@click.option("--ring", type=click.IntRange(min=1), metavar="N", help="Write this ring alone.  [default: all rings]")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    metavar="DIRECTORY",
    help="Write into this folder, which must be new or empty.",
)
def command(
    *,
    rollout: Path,
    inventory: Path,
    target: str,
    issuer: str | None,
    issuer_kind: str,
    ring: int | None,
    out: Path,
) -> None:
    """Write a request for each certificate of a rollout.

    ROLLOUT is a file that plan inventory --rollout wrote. Each ring has a folder, each certificate a file with all its
    names. index.csv says which file is whose, and which certificates have none. certbot and lego know a certificate by
    the inventory's name for it, lego 4 by its first name.

    Example: originset plan requests rings.json --inventory certificates.csv --for certbot --out requests
    """
    if (issuer is None) == (target == "cert-manager"):
        raise click.UsageError("--for cert-manager takes --issuer; nothing else takes it.")
    planned = read_rollout(rollout)
    known = read_inventory(inventory).certificates
    names = dict(zip(known["certificate"], known["names"].to_list(), strict=True))
    rings = [(one.ring, one.certificates) for one in planned.rings if ring in (None, one.ring)]
    if not rings:
        raise UsageError(f"{rollout} has no ring {ring}", f"it has {len(planned.rings)}")
    for _, changes in rings:
        for change in changes:
            if change.certificate not in names:
                raise InputError(str(inventory), "no-certificate", f"has no certificate {quoted(change.certificate)}")
    _require_empty(out)
    issuance = _Issuance(names, target, issuer or "", issuer_kind)
    rows = [row for number, changes in rings for row in _ring(out / f"ring-{number}", number, changes, issuance)]
    index = pl.DataFrame(rows, schema=_INDEX, orient="row")
    write_text(out / "index.csv", csv_text(index))
    written = index.filter(pl.col("file").is_not_null()).height
    note(f"{counted(written, 'file')} in {counted(len(rings), 'ring')}; {out / 'index.csv'} lists them")
    if written < index.height:
        note(f"{counted(index.height - written, 'certificate')} without a file: see the column problem there")


@dataclass(frozen=True, slots=True)
class _Issuance:
    """Today's names of each certificate, and the tool that requests them anew."""

    names: dict[str, list[str] | None]
    target: str
    issuer: str
    issuer_kind: str


def _ring(folder: Path, number: int, changes: list[Change], issuance: _Issuance) -> Iterator[dict[str, Any]]:
    """Write a ring's files, one at a time; a row of the index for each certificate."""
    make_folder(folder)
    for place, change in enumerate(changes, 1):
        row = {"ring": number, "group": change.group, "certificate": change.certificate}
        name = f"{place:05}-{_NO_NAME.sub('-', change.certificate.lower())[:_LONGEST_NAME]}".rstrip("-")
        try:
            chosen = changed(change.certificate, issuance.names[change.certificate] or (), change.names)
            text, key = _request(issuance, chosen, f"ring-{number}-{name}")
        except UsageError as error:
            yield {**row, "problem": error.problem}
            continue
        path = folder / f"{name}.{_ENDINGS[issuance.target]}"
        _write(path, text.encode(), 0o666)
        if key is not None:
            _write(path.with_suffix(".key"), key, 0o600)
        (certificate,) = chosen.certificates
        yield {
            **row,
            "file": f"{folder.name}/{path.name}",
            "names": len(certificate.names) + len(certificate.addresses),
            "added": list(certificate.added),
            "problem": "; ".join(f"left out {quoted(left)}: {why}" for left, why in chosen.left_out) or None,
        }


def _request(issuance: _Issuance, chosen: NameList, resource: str) -> tuple[str, bytes | None]:
    """A file's text, and the private key that is made for it."""
    target = issuance.target
    if target == "certbot":
        return certbot.render(chosen, chosen.site), None
    if target == "lego":
        return lego.render(chosen, chosen.site), None
    if target == "lego4":
        return lego.render_4(chosen, None), None
    if target == "cert-manager":
        return cert_manager.render_resource(chosen, resource, issuance.issuer, issuance.issuer_kind), None
    key = signing_request.new_key()
    return signing_request.render(chosen, key), signing_request.key_text(key)


def _require_empty(folder: Path) -> None:
    make_folder(folder)
    if any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty", "name a new folder with --out")


def _write(path: Path, content: bytes, mode: int) -> None:
    try:
        with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(content)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror})", "name another folder with --out") from error
