"""``originset plan requests``: a request for each certificate of a rollout, in a folder for each ring."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import polars as pl

from originset.cli.common.command_tree import Command
from originset.cli.common.files import FILE, write_text
from originset.cli.common.output import note
from originset.cli.common.ring_options import named_changes, require_empty, ring_option, write_new
from originset.cli.writers import cert_manager, certbot, lego, signing_request
from originset.cli.writers.name_list import NameList, changed
from originset.cli.writers.origin_set import quoted
from originset.data.errors import UsageError
from originset.data.quantity import quantity
from originset.models.plans.inventory.ring_changes import RingChange, ring_changes
from originset.queries.csv_text import csv_text

_ENDINGS = {"csr": "csr", "certbot": "sh", "lego": "sh", "lego4": "sh", "cert-manager": "yaml"}
REQUEST_FORMATS = tuple(_ENDINGS)
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


@click.command(cls=Command)
@click.argument("rollout", type=FILE)
@click.option("--inventory", type=FILE, required=True, metavar="FILE", help="The certificates, as for plan inventory.")
@click.option(
    "--for",
    "target",
    required=True,
    type=click.Choice(REQUEST_FORMATS),
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
@ring_option
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
    rings = ring_changes(rollout, inventory, ring)
    require_empty(out)
    issuance = _Issuance(target, issuer or "", issuer_kind)
    rows = [row for number, changes in rings.items() for row in _ring(out / f"ring-{number}", changes, issuance)]
    index = pl.DataFrame(rows, schema=_INDEX, orient="row")
    write_text(out / "index.csv", csv_text(index))
    written = index.filter(pl.col("file").is_not_null()).height
    note(f"{quantity(written, 'file')} in {quantity(len(rings), 'ring')}; {out / 'index.csv'} lists them")
    if written < index.height:
        note(f"{quantity(index.height - written, 'certificate')} without a file: see the column problem there")


@dataclass(frozen=True, slots=True)
class _Issuance:
    """The tool that requests certificates anew."""

    target: str
    issuer: str
    issuer_kind: str


def _ring(folder: Path, changes: list[RingChange], issuance: _Issuance) -> Iterator[dict[str, Any]]:
    """Write a ring's files, one at a time; a row of the index for each certificate."""
    for name, one in named_changes(folder, changes):
        change = one.change
        row = {"ring": one.ring, "group": change.group, "certificate": change.certificate}
        try:
            chosen = changed(change.certificate, one.names, change.names)
            text, key = _request(issuance, chosen, f"ring-{one.ring}-{name}")
        except UsageError as error:
            yield {**row, "problem": error.problem}
            continue
        path = folder / f"{name}.{_ENDINGS[issuance.target]}"
        write_new(path, text.encode())
        if key is not None:
            write_new(path.with_suffix(".key"), key, 0o600)
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
