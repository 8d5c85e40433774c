"""Certificates: what they say, what the library refuses, and real ones against what Chrome said of them."""

import hashlib
import ipaddress
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID

from originset.analysis.certificates import certificate_tables, from_der, from_details, normalise_name
from originset.analysis.har.structs import SecurityDetails
from originset.data.schema import TABLES


def made(key, *names: x509.GeneralName, subject: str = "leaf.test") -> bytes:
    name = x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, subject), x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Org")]
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(datetime(2026, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2027, 1, 1, tzinfo=UTC))
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    digest = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(key, digest).public_bytes(serialization.Encoding.DER)


def test_a_certificate_in_full():
    der = made(
        ec.generate_private_key(ec.SECP256R1()),
        x509.DNSName("WWW.Example.test"),
        x509.DNSName("*.example.test"),
        x509.IPAddress(ipaddress.ip_address("2001:db8::1")),
        x509.DNSName("www.example.test"),
        x509.RFC822Name("nobody@example.test"),
    )
    found = from_der(der, chain=("a", "b"))
    assert found.certificate_id == hashlib.sha256(der).hexdigest()
    assert (found.subject_cn, found.issuer_cn, found.issuer_org) == ("leaf.test", "leaf.test", "Org")
    assert found.names == ("www.example.test", "*.example.test", "2001:db8::1")
    assert (found.key_type, found.der_bytes, found.chain, found.problem) == ("EC-P256", len(der), ("a", "b"), None)
    assert (found.not_before, found.not_after) == (datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))
    tables = certificate_tables([found, found])
    for name, rows in tables.items():
        assert rows.schema == TABLES[name].polars_schema
    assert tables["certificates"]["san_count"].to_list() == [3]
    assert tables["certificate_names"]["wildcard"].to_list() == [False, True, False]


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (rsa.generate_private_key(65537, 2048), "RSA-2048"),
        (ec.generate_private_key(ec.SECP384R1()), "EC-P384"),
        (ed25519.Ed25519PrivateKey.generate(), "Ed25519"),
    ],
)
def test_kinds_of_keys_and_no_names_at_all(key, name):
    found = from_der(made(key))
    assert (found.key_type, found.names) == (name, ())


def test_garbage_is_kept_with_its_problem():
    found = from_der(b"\x30\x03garbage")
    assert found.certificate_id == hashlib.sha256(b"\x30\x03garbage").hexdigest()
    assert found.problem
    assert found.names is None
    assert certificate_tables([found])["certificates"]["san_count"].to_list() == [None]


def test_details_of_a_har_make_an_id_of_their_own():
    details = SecurityDetails(subject="a.test", issuer="CA", names=["a.test"], valid_from=0.0, valid_to=1e300)
    found = from_details(details)
    assert re.fullmatch(r"fields-[0-9a-f]{64}", found.certificate_id)
    assert found.not_before == datetime(1970, 1, 1, tzinfo=UTC)
    assert found.not_after is None
    assert from_details(SecurityDetails(subject="a.test")).names is None
    assert from_details(SecurityDetails(subject="a.test", names=[])).names == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("*.A.test", "*.a.test"),
        ("*", None),
        ("a.*.test", None),
        ("*.*.test", None),
        ("f*.test", None),
        (" a.test ", "a.test"),
    ],
)
def test_names(name, expected):
    assert normalise_name(name) == expected


def pem_certificates(path: Path) -> list[bytes]:
    text = path.read_bytes()
    blocks = re.findall(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", text, re.DOTALL)
    return [x509_der(block) for block in blocks]


def x509_der(block: bytes) -> bytes:
    import base64  # noqa: PLC0415 - only here

    return base64.b64decode(b"".join(block.splitlines()[1:-1]))


@pytest.mark.parametrize("name", ["real_leaf_with_sct.pem", "real_chain_issuers.pem", "edge_leaf.pem"])
def test_real_and_odd_certificates_are_kept(shared, name):
    ders = pem_certificates(shared / "data" / "certificates" / name)
    assert len(ders) > 20
    found = [from_der(der) for der in ders]
    rows = certificate_tables(found)["certificates"]
    assert rows.height == len({hashlib.sha256(der).digest() for der in ders})
    if not name.startswith("edge"):
        assert rows["problem"].null_count() == rows.height
        assert rows["not_after"].null_count() == 0
    # Whatever the library gives up on has a reason; whatever it reads has names or none, but not an unknown.
    assert all((certificate.names is None) <= (certificate.problem is not None) for certificate in found)


def test_names_of_chromes_lists_survive(shared):
    lists = [
        json.loads(line) for line in (shared / "data" / "certificates" / "san_lists.jsonl").read_text().splitlines()
    ]
    for given in lists:
        details = SecurityDetails(subject=given["subjectName"], issuer=given["issuer"], names=given["sanList"])
        found = from_details(details)
        assert found.problem is None
        assert set(found.names or ()) == {name.lower() for name in given["sanList"]}
