"""What tests of ``plan`` and ``config`` share: a study of two sites with its models, and how to call the command."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from json_schemas import output_of, validator

from originset.cli import main
from originset.data.schema.study_tables import TABLES
from originset.data.studies import database
from originset.data.studies.shards import write_shard
from originset.data.studies.study import Study


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark whole commands as slow; writers are functions."""
    if item.path.parent == Path(__file__).parent:
        item.add_marker("slow")


SITE = "www.site.test"

VISITS = [
    {
        "visit_id": "v0",
        "site": SITE,
        "status": "ok",
        "vantage": "a",
        "started_at": datetime.fromisoformat("2026-11-20"),
    },
    {
        "visit_id": "v1",
        "site": SITE,
        "status": "ok",
        "vantage": "b",
        "started_at": datetime.fromisoformat("2026-11-21"),
    },
    {"visit_id": "v2", "site": SITE, "status": "failed", "vantage": "c"},
    {"visit_id": "v3", "site": "gone.test", "status": "failed", "vantage": "a"},
]

_ANNOUNCED = {"covered_by_certificate": True, "misdirected": False, "level": 3}
ORIGIN_SETS = [
    {"host": SITE, "requests": 2, "visits": 2, "seen_share": 1.0, **_ANNOUNCED},
    {"host": "static.cdn.test", "requests": 9, "visits": 2, "seen_share": 1.0, **_ANNOUNCED},
    {"host": "api.site.test", "requests": 1, "visits": 1, "seen_share": 0.5, **_ANNOUNCED},
    {"host": "no.test", "requests": 1, "visits": 1, "seen_share": 0.5, **_ANNOUNCED, "misdirected": True},
    {
        "host": "lacks.test",
        "requests": 1,
        "visits": 1,
        "seen_share": 0.5,
        **_ANNOUNCED,
        "covered_by_certificate": False,
    },
    {"host": "evil\x1b[2J\n.test", "requests": 1, "visits": 1, "seen_share": 0.5, **_ANNOUNCED},
]

ADDITIONS = [
    {
        "name": "lacks.test", "rank": 1, "level": 0, "same_owner": False, "validatable_by": "nobody_known",
        "connections_saved_paper": 2, "connections_saved_chromium": 0, "connections_saved_chromium_h3": 2,
        "connections_saved_firefox": 2,
    }
]  # fmt: skip
CHANGES = [
    {"name": "lib.cdn.test", "rank": 1, "sites": 3, "connections_saved_firefox": 5},
    {"name": "font.cdn.test", "rank": 2, "sites": 2},
    {
        "name": "idle.cdn.test", "rank": 3, "sites": 1, "connections_saved_chromium": 0,
        "connections_saved_chromium_h3": 0, "connections_saved_firefox": 0,
    },
]  # fmt: skip


def rows(table: str, given: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(given, schema=TABLES[table].polars_schema)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("plan")
    made = Study(folder / "S")
    made.create()
    write_shard(made, "visits", "x", rows("visits", VISITS))
    requests = [
        {"visit_id": "v0", "request_id": number, "scheme": "https", "host": row["host"], "protocol": "h2"}
        for number, row in enumerate(ORIGIN_SETS)
    ]
    write_shard(made, "requests", "x", rows("requests", requests))
    chain = [
        {"certificate_id": "c1", "chain": ["c1", "i1"], "der_bytes": 1000},
        {"certificate_id": "i1", "der_bytes": 2575},
    ]
    write_shard(made, "certificates", "x", rows("certificates", chain))
    usual = {"site": SITE, "server": SITE, "port": 443, "asn": 64500}
    modelled = {
        "origin_sets": rows("origin_sets", [usual | row for row in ORIGIN_SETS]),
        "certificate_additions": rows("certificate_additions", [{"site": SITE} | row for row in ADDITIONS]),
        "provider_changes": rows("provider_changes", [{"provider": "Example CDN", "asn": 64500} | c for c in CHANGES]),
        "site_certificates": rows("site_certificates", [{"site": SITE, "certificate_id": "c1", "existing_names": 3}]),
    }
    modelled["page_basis"] = rows(
        "page_basis",
        [
            {"visit_id": visit["visit_id"], "question": question, "counted": visit["status"] == "ok"}
            for visit in VISITS
            for question in ("causes", "servers", "certificates")
        ],
    )
    files = {name: [folder / f"{name}.parquet"] for name in modelled}
    for name, frame in modelled.items():
        frame.write_parquet(*files[name])
    database.build_database(made, files)
    return made


@dataclass
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(study: Study, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Call ``originset --study S ...`` as the console entry does, but in this process: forty processes are slow.

    What it writes as JSON is as its published schema says.
    """

    def call(*arguments: str | Path) -> Done:
        monkeypatch.setattr(sys, "argv", ["originset", "--study", str(study.root), *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main.run()
        done = Done(int(ended.value.code or 0), *capsys.readouterr())
        if done.stdout and (output := output_of([*map(str, arguments)])) is not None:
            validator(output).validate(json.loads(done.stdout))
        return done

    return call


@pytest.fixture
def certificate_file(tmp_path: Path) -> Path:
    """A certificate's PEM file, self-signed, for www.site.test, also.test and an address."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "www.site.test")])
    names = [x509.DNSName("WWW.site.test"), x509.DNSName("also.test"), x509.IPAddress(IPv6Address("2001:db8::1"))]
    built = x509.CertificateBuilder(
        name, name, key.public_key(), 1, datetime(2026, 1, 1, tzinfo=UTC), datetime(2036, 1, 1, tzinfo=UTC)
    ).add_extension(x509.SubjectAlternativeName(names), critical=False)
    path = tmp_path / "current.pem"
    path.write_bytes(built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    return path
