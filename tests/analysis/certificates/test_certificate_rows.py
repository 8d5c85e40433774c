"""Certificates: what they say, what the library refuses, and real ones against what Chrome said of them."""

import base64
import contextlib
import hashlib
import ipaddress
import json
import re
import warnings
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa, x25519
from cryptography.x509.oid import NameOID, ObjectIdentifier
from hypothesis import given
from hypothesis import strategies as st

from originset.analysis.certificates.alternative_names import alternative_names
from originset.analysis.certificates.certificate_rows import (
    certificate_from_der,
    certificate_from_details,
    certificate_tables,
    normalise_name,
)
from originset.analysis.certificates.chain_order import chain_problem
from originset.analysis.har.decoding.structs import SecurityDetails
from originset.data.schema.study_tables import TABLES


def made(key, *names: x509.GeneralName, subject: str = "leaf.test", signed_by=None, raw=None) -> bytes:
    """``raw``: values of further extensions by their object identifiers."""
    signer = signed_by or key
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
    for identifier, value in (raw or {}).items():
        builder = builder.add_extension(x509.UnrecognizedExtension(ObjectIdentifier(identifier), value), critical=False)
    digest = None if isinstance(signer, ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey) else hashes.SHA256()
    return builder.sign(signer, digest).public_bytes(serialization.Encoding.DER)


def test_a_certificate_in_full():
    der = made(
        ec.generate_private_key(ec.SECP256R1()),
        x509.DNSName("WWW.Example.test"),
        x509.DNSName("*.example.test"),
        x509.IPAddress(ipaddress.ip_address("2001:db8::1")),
        x509.DNSName("www.example.test"),
        x509.RFC822Name("nobody@example.test"),
    )
    found = certificate_from_der(der, chain=("a", "b"))
    assert found.certificate_id == hashlib.sha256(der).hexdigest()
    assert (found.subject_cn, found.issuer_cn, found.issuer_org) == ("leaf.test", "leaf.test", "Org")
    assert found.names == ("www.example.test", "*.example.test", "2001:db8::1")
    assert (found.key_type, found.der_bytes, found.chain, found.problem) == ("EC-P256", len(der), ("a", "b"), None)
    assert found.subject == "O=Org,CN=leaf.test"
    assert (found.signature, found.sct_count, found.self_signed) == ("ecdsa-with-SHA256", 0, True)
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
        (ed448.Ed448PrivateKey.generate(), "Ed448"),
    ],
)
def test_kinds_of_keys_and_no_names_at_all(key, name):
    found = certificate_from_der(made(key))
    assert (found.key_type, found.names) == (name, ())


SIGNER = ec.generate_private_key(ec.SECP256R1())


def test_whoever_has_the_same_name_has_not_signed_it():
    """Nor can a key that only agrees on secrets sign anything."""
    assert certificate_from_der(made(SIGNER, signed_by=ec.generate_private_key(ec.SECP256R1()))).self_signed is False
    found = certificate_from_der(made(x25519.X25519PrivateKey.generate(), signed_by=SIGNER))
    assert (found.key_type, found.self_signed) == ("X25519", None)


def tagged(tag: int, *contents: bytes) -> bytes:
    content = b"".join(contents)
    return bytes((tag, len(content))) + content


def test_timestamps_of_logs_are_counted():
    one = b"\0" + b"L" * 32 + b"\0\0\1\x8c\0\0\0\0" + b"\0\0" + b"\4\3" + b"\0\1s"
    listed = 2 * (len(one).to_bytes(2) + one)
    value = tagged(0x04, len(listed).to_bytes(2) + listed)
    assert certificate_from_der(made(SIGNER, raw={"1.3.6.1.4.1.11129.2.4.2": value})).sct_count == 2


# Policies that are none: the library then reads no extension at all.
ODD = {"2.5.29.32": b"\x04\x01?"}


def test_names_are_read_though_another_extension_is_odd():
    named = (
        x509.DNSName("www.a.test"),
        x509.RFC822Name("nobody@a.test"),
        x509.IPAddress(ipaddress.ip_address("192.0.2.1")),
        x509.IPAddress(ipaddress.ip_address("2001:db8::1")),
    )
    found = certificate_from_der(made(SIGNER, *named, raw=ODD))
    assert found.names == ("www.a.test", "192.0.2.1", "2001:db8::1")
    assert (found.problem or "").startswith("names: ")
    assert certificate_from_der(made(SIGNER, raw=ODD)).names == ()
    many = [x509.DNSName(f"www{number}.a.test") for number in range(300)]
    assert len(certificate_from_der(made(SIGNER, *many, raw=ODD)).names or ()) == 300


def test_an_address_of_no_length_that_addresses_have():
    names = tagged(0x30, tagged(0x82, b"www.a.test"), tagged(0x87, b"\1\2\3\4\5"))
    found = certificate_from_der(made(SIGNER, raw={"2.5.29.17": names}))
    assert found.names == ("www.a.test",)
    assert "1 of 2 names are no host names" in (found.problem or "")


@pytest.mark.promise("odd-certificates-are-kept")
@pytest.mark.parametrize(
    ("extensions", "why"),
    [
        (tagged(0x30, tagged(0x30, tagged(0x06, b"\x55\x1d\x11"))), "no value"),
        (tagged(0x31), "0x30 expected"),
        (b"\x30", "cut off"),
        (b"\x30\x05\x30", "cut off"),
        (b"\x30\x80", "a length that cannot be"),
        (b"\x30\x85\1\1\1\1\1", "a length that cannot be"),
        (b"\x30\x82\1", "a length that cannot be"),
    ],
)
def test_extensions_that_are_not_so_built(extensions, why):
    with pytest.raises(ValueError, match=why):
        alternative_names(tagged(0x30, tagged(0xA3, extensions)))


def test_no_extensions_no_names():
    assert alternative_names(tagged(0x30, tagged(0x02, b"\7"))) == []
    assert alternative_names(tagged(0x30, tagged(0xA3, tagged(0x30, tagged(0x30, tagged(0x06, b"\x55")))))) == []


@pytest.mark.promise("odd-certificates-are-kept")
def test_garbage_is_kept_with_its_problem():
    found = certificate_from_der(b"\x30\x03garbage")
    assert found.certificate_id == hashlib.sha256(b"\x30\x03garbage").hexdigest()
    assert found.problem
    assert found.names is None
    assert certificate_tables([found])["certificates"]["san_count"].to_list() == [None]


def test_a_version_that_does_not_exist():
    version_3 = bytes.fromhex("a003020102")
    der = made(ec.generate_private_key(ec.SECP256R1())).replace(version_3, version_3[:-1] + b"\x03", 1)
    assert "version" in (certificate_from_der(der).problem or "")


def test_details_of_a_har_make_an_id_of_their_own():
    details = SecurityDetails(subject="a.test", issuer="CA", names=["a.test"], valid_from=0.0, valid_to=1e300)
    found = certificate_from_details(details)
    assert re.fullmatch(r"fields-[0-9a-f]{64}", found.certificate_id)
    assert found.not_before == datetime(1970, 1, 1, tzinfo=UTC)
    assert found.not_after is None
    assert certificate_from_details(SecurityDetails(subject="a.test")).names is None
    assert certificate_from_details(SecurityDetails(subject="a.test", names=[])).names == ()


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


PEM = re.compile(
    r"(?:# (?P<file>\S[^\n]*?) sha256=(?P<sha256>[0-9a-f]{64})(?: tags=\[(?P<tags>.*?)\])?[^\n]*\n)?"
    r"-----BEGIN CERTIFICATE-----(?P<body>.*?)-----END CERTIFICATE-----",
    re.DOTALL,
)


def pem_certificates(path: Path) -> list[tuple[str, str | None, set[str], bytes]]:
    """File, SHA-256 as stated, tags and DER."""
    return [
        (
            (found["file"] or "").rpartition("/")[2],
            found["sha256"],
            set(re.findall(r"'(.*?)'", found["tags"] or "")),
            base64.b64decode(found["body"]),
        )
        for found in PEM.finditer(path.read_text())
    ]


@pytest.mark.parametrize(("name", "count"), [("real_leaf_with_sct.pem", 57), ("real_chain_issuers.pem", 26)])
def test_real_certificates_are_read_in_full(shared, name, count):
    ders = [der for *_, der in pem_certificates(shared / "data" / "certificates" / name)]
    assert len(ders) == count
    found = [certificate_from_der(der) for der in ders]
    rows = certificate_tables(found)["certificates"]
    assert rows["certificate_id"].sort().to_list() == sorted(hashlib.sha256(der).hexdigest() for der in ders)
    assert rows["problem"].null_count() == rows.height
    for column in (
        "subject",
        "not_before",
        "not_after",
        "key_type",
        "signature",
        "sct_count",
        "self_signed",
        "san_count",
    ):
        assert rows[column].null_count() == 0, column
    assert not rows["signature"].str.contains(r"^[0-9.]+$").any()
    leaf = name.startswith("real_leaf")
    assert (rows["sct_count"] > 0).sum() == (56 if leaf else 0)
    assert not (rows["self_signed"].any() and leaf)


# Why the library refused something of each, and the names that could be read nevertheless.
REFUSED = {
    "SANBareWildcard.pem": ("a relative distinguished name cannot be empty", ()),
    "SANDNSAsterisk.pem": ("1 of 1 names are no host names", ()),
    "SANEDIParty.pem": ("x400Address/EDIPartyName are not supported types", ("dns.com",)),
    "SANWithInvalidEmail2.pem": ("ShortData", ("gov.us",)),
    "SANdnsbadsyntax.pem": ("1 of 2 names are no host names", ("128.168.45.1",)),
    "alternate-rsa-sha1-oid.der": ("Unsupported signature algorithm", ()),
    "badssl-sct-none-hash.der": ("hash algorithm for SCT: 0", ("invalid-expected-sct.badssl.com",)),
    "caMaxPathLenMissing.pem": ("GeneralName::DNSName", ()),
    "generalizedAfter2050.pem": ("Invalid netmask", ()),
    "issuerDNTrailingSpace.pem": ("duplicate attributes are not allowed", ()),
    "policyMapIssuerNotInCertPolicy.pem": ("authority_cert_issuer", ("*.gov.us", "gov.us")),
    "rsa_multipurpose_valid_ku_august_2023.pem": ("Signature algorithm does not match issuer key type", ()),
    "subjectGivenNameToolLong.pem": ("a relative distinguished name cannot be empty", ("www.example.com",)),
    "san_x400address.der": ("x400Address/EDIPartyName are not supported types", ()),
}


def is_address(name):
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


# What a tag of the collection says that the names must be.
TAGS = {
    "no-san": lambda names: names == (),
    "wildcard": lambda names: any(name.startswith("*.") for name in names),
    "ip-san": lambda names: any(is_address(name) for name in names),
    "idn": lambda names: any("xn--" in name for name in names),
    "big-san": lambda names: len(names) >= 20,
}


def test_odd_certificates_are_kept_each_for_its_reason(shared):
    certificates = pem_certificates(shared / "data" / "certificates" / "edge_leaf.pem")
    assert len(certificates) == 137
    refused = dict(REFUSED)
    for file, sha256, tags, der in certificates:
        found = certificate_from_der(der)
        assert found.certificate_id == sha256
        assert (found.der_bytes, found.not_after is not None, found.key_type is not None) == (len(der), True, True)
        assert found.names is not None, file
        for tag, holds in TAGS.items():
            assert tag not in tags or holds(found.names), (file, tag, found.names)
        if file in refused:
            reason, names = refused.pop(file)
            assert reason in (found.problem or ""), file
            assert found.names == names, file
        elif "san-parse-error" not in tags:
            assert found.problem is None or found.problem.startswith("signature: "), file
        else:
            assert found.problem, file
    assert not refused


def test_names_alone_are_the_names_that_the_library_reads(shared):
    """Two readers of every certificate of which the library reads the names."""
    compared = 0
    for path in (shared / "data" / "certificates").glob("*.pem"):
        for *_, der in pem_certificates(path):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                loaded = x509.load_der_x509_certificate(der)
                try:
                    extension = loaded.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
                except (ValueError, x509.ExtensionNotFound, x509.UnsupportedGeneralNameType):
                    continue
            expected = [*extension.get_values_for_type(x509.DNSName)]
            expected += [str(address) for address in extension.get_values_for_type(x509.IPAddress)]
            assert sorted(alternative_names(loaded.tbs_certificate_bytes)) == sorted(expected)
            compared += 1
    assert compared > 100


@pytest.mark.promise("odd-certificates-are-kept")
@given(st.binary(max_size=60))
def test_bytes_that_are_no_certificate(data):
    with contextlib.suppress(ValueError):
        assert isinstance(alternative_names(data), list)
    with contextlib.suppress(ValueError):
        assert isinstance(alternative_names(b"\x30" + bytes([len(data)]) + data), list)


LEAF, INTER, ROOT = ("leaf", "inter"), ("inter", "root"), ("root", "root")
LONE, OTHER = ("lone", "nobody"), ("other", "other")


@pytest.mark.parametrize(
    ("chain", "problem"),
    [
        ([LEAF], None),
        ([LEAF, INTER], None),
        ([LEAF, INTER, ROOT], None),
        ([ROOT], None),
        ([LEAF, ROOT, INTER], "order"),
        ([LEAF, ROOT], "gap"),
        ([LONE, INTER, ROOT], "gap"),
        ([LEAF, INTER, OTHER], "stranger"),
        ([LEAF, OTHER, INTER, ROOT], "stranger"),
        ([LEAF, (None, "root")], "unreadable"),
        ([LEAF, INTER, INTER], "stranger"),
    ],
)
def test_chains_as_sent(chain, problem):
    names = {str(number): pair for number, pair in enumerate(chain)}
    assert chain_problem(list(names), names) == problem


def test_a_chain_with_a_certificate_that_is_not_there():
    assert chain_problem(["a", "b"], {"a": LEAF}) == "unreadable"


def test_names_of_chromes_lists_survive(shared):
    lists = [
        json.loads(line) for line in (shared / "data" / "certificates" / "san_lists.jsonl").read_text().splitlines()
    ]
    for leaf in lists:
        details = SecurityDetails(subject=leaf["subjectName"], issuer=leaf["issuer"], names=leaf["sanList"])
        found = certificate_from_details(details)
        assert found.problem is None
        assert set(found.names or ()) == {name.lower() for name in leaf["sanList"]}
