"""A thousand strangers' hosts and names, from a study's tables through the plan into every file: data, or left out."""

import ipaddress
import itertools
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import msgspec
import polars as pl
import pytest
from cryptography import x509
from hostile_texts import HOSTILE

from originset.cli.plan.config import _WRITERS
from originset.cli.writers import cert_manager, certbot, lego, name_list, names_json, origin_set, signing_request
from originset.data.schema.study_tables import TABLES
from originset.models.plans.origin_plan import Basis, Plan, plan
from originset.models.plans.plan_file import plan_text, read_plan

SITE = "www.good.test"
SHAPES = ("{}", "{}.good.test", "a{}", "{}a", "a.{}.test", "{0}.{0}", "x{}y.test", "www.{}", "{}-", "{}.", "1{}")
TEXTS = list(itertools.islice(dict.fromkeys(s.format(t) for t in HOSTILE for s in SHAPES), 1000))

# Said here once more, apart from the code: a host name of letters, digits and inner hyphens that is no address.
_NAME = re.compile(
    r"(?!.*(?:^|\.)xn--)(?=.{1,253}\Z)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9][a-z0-9-]{0,62}"
)


def is_name(text: str) -> bool:
    last = text.rpartition(".")[2]
    if not _NAME.fullmatch(text) or text.endswith("-") or last.isdigit() or re.fullmatch("0x[0-9a-f]*", last):
        return False
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return True
    return False


GOOD = sorted(text for text in TEXTS if is_name(text))


def rows(name: str, given: list[dict[str, object]]) -> pl.DataFrame:
    return pl.DataFrame(given, schema=TABLES[name].polars_schema)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """Every text is a host to announce, a name to add and one of the certificate; the plan was written and read."""
    usual = {"site": SITE, "server": SITE, "port": 443, "asn": 1, "level": 3, "misdirected": False, "requests": 1}
    usual |= {"covered_by_certificate": True, "visits": 1, "seen_share": 1.0}
    added = {"site": SITE, "level": 3, "same_owner": True, "validatable_by": "site"}
    tables = {
        "origin_sets": rows("origin_sets", [usual | {"host": host} for host in [SITE, *TEXTS]]),
        "certificate_additions": rows(
            "certificate_additions", [added | {"name": name, "rank": rank} for rank, name in enumerate(TEXTS[::2])]
        ),
        "site_certificates": rows("site_certificates", [{"site": SITE, "certificate_id": TEXTS[0]}]),
        "certificate_names": pl.DataFrame({"name": [SITE, *TEXTS[1::2]]}),
        "chain": pl.DataFrame({"der_bytes": [1000]}),
        "requests": pl.DataFrame(
            [{"scheme": "https", "host": host, "protocol": "h2", "server_ip": "192.0.2.1", "asn": 1} for host in TEXTS]
        ),
    }
    text = "".join(HOSTILE)
    basis = Basis(study=text, visits=1, vantages=1, first_visit=text, last_visit=text)
    path = tmp_path_factory.mktemp("hostile") / "plan.json"
    path.write_text(plan_text(plan(SITE, basis, tables)))
    assert path.read_bytes().isascii()
    return read_plan(path)


def test_the_texts_are_a_thousand_and_some_of_them_are_names() -> None:
    assert len(TEXTS) == 1000
    assert 10 < len(GOOD) < 400


@pytest.mark.promise("configurations-hold-origins-only")
def test_each_host_is_announced_or_left_out_with_a_reason(made: Plan) -> None:
    (server,) = made.servers
    assert server.origins == sorted(f"https://{host}" for host in {SITE, *GOOD})
    assert {left.host for left in server.left_out} == set(TEXTS) - set(GOOD)
    assert all(left.detail for left in server.left_out)
    assert {addition.name for addition in made.additions} == {text for text in TEXTS[::2] if is_name(text)}


@pytest.mark.promise("configurations-hold-origins-only")
def test_every_configuration_holds_the_valid_origins_and_nothing_else(made: Plan, tmp_path: Path) -> None:
    chosen, refused = origin_set.choose(msgspec.structs.replace(made, names=None), None)
    origins = sorted(f"https://{host}" for host in {SITE, *GOOD})
    assert (list(chosen.origins), refused) == (origins, [])
    files = {server: write(chosen) for server, write in _WRITERS.items()}
    for server in ("node", "h2o", "list"):
        assert isinstance(files[server], str)
        assert files[server].isascii()
    assert files["list"].splitlines() == origins
    assert json.loads(files["h2o"].splitlines()[-1].partition(": ")[2]) == origins
    assert files["raw-h3"] == files["raw"][9:]
    assert files["raw-h3"] == b"".join(len(one).to_bytes(2, "big") + one.encode() for one in origins)
    if shutil.which("node") is None:
        pytest.skip("Node is not installed")
    (tmp_path / "origins.mjs").write_text(files["node"])
    shown = 'import { origins } from "./origins.mjs"; console.log(JSON.stringify(origins));'
    done = subprocess.run(
        ["node", "--input-type=module", "--eval", shown], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == origins
    assert [path.name for path in tmp_path.iterdir()] == ["origins.mjs"]


@pytest.mark.promise("configurations-hold-origins-only")
def test_every_certificate_file_holds_the_valid_names_and_runs_nothing(made: Plan, tmp_path: Path) -> None:
    chosen = name_list.choose(made, None, 10_000)
    (certificate,) = chosen.certificates
    addresses = [str(ipaddress.ip_address(text)) for text in TEXTS[1::2] if is_address(text)]
    wildcards = {text for text in TEXTS[1::2] if text.startswith("*.") and is_name(text[2:])}
    expected = {SITE, *(host for host in GOOD if "." in host)} | {name for name in wildcards if "." in name[2:]}
    # What a wildcard of today's covers is not added once more.
    covered = {host for host in expected if f"*.{host.partition('.')[2]}" in wildcards and host in TEXTS[::2]}
    assert set(certificate.names) == expected - covered
    assert sorted(certificate.addresses) == sorted(set(addresses))
    assert all(reason for _, reason in chosen.left_out)
    key = signing_request.new_key()
    request = x509.load_pem_x509_csr(signing_request.render(chosen, key).encode())
    names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == list(certificate.names)
    (held,) = json.loads(names_json.render(chosen))["certificates"]
    assert (held["names"], held["addresses"]) == (list(certificate.names), list(certificate.addresses))
    patch = cert_manager.render(chosen).splitlines()
    entries = [json.loads(line.removeprefix("    - ")) for line in patch if line.startswith("    - ")]
    assert entries == [*certificate.names, *certificate.addresses]
    assert all(line.startswith(("#", "    - ")) or line in {"spec:", "  dnsNames:", "  ipAddresses:"} for line in patch)
    for target, text, options in (
        ("certbot", certbot.render(chosen, None), ("-d", "--ip-address")),
        ("lego", lego.render(chosen, None), ("--domains",)),
        ("lego4", lego.render_4(chosen, None), ("--domains",)),
    ):
        folder, program = tmp_path / target, target.removesuffix("4")
        folder.mkdir()
        script = folder / program
        script.write_text('#!/bin/sh\nfor word; do printf "%s\\n" "$word"; done\n')
        script.chmod(0o755)
        done = subprocess.run(
            ["/bin/sh", "-c", text],
            cwd=folder,
            env={"PATH": f"{folder}:/bin"},
            capture_output=True,
            text=True,
            check=True,
        )
        words = done.stdout.splitlines()
        assert [b for a, b in itertools.pairwise(words) if a in options] == [
            *certificate.names,
            *certificate.addresses,
        ]
        assert (done.stderr, [path.name for path in folder.iterdir()]) == ("", [program])
        assert shlex.split(text, comments=True)


def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
