"""Which hosts a certificate covers, against a plain reading of RFC 9525 and a verifier of certificates."""

import datetime as dt
import ipaddress
import json
import os
import random

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import verification
from cryptography.x509.oid import NameOID
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from naive_evidence import covers

from originset.models.runner.runner import batch_rows

pytestmark = pytest.mark.slow


def is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def study_of(certificates, hosts):
    """Rows of a study: certificates by number, each with its names."""
    return {
        "certificates": [{"certificate_id": str(i), "san_count": len(names)} for i, names in enumerate(certificates)],
        "certificate_names": [
            {"certificate_id": str(i), "name": name, "wildcard": name.startswith("*.")}
            for i, names in enumerate(certificates)
            for name in names
        ],
        "hosts": [{"host": host} for host in sorted(set(hosts))],
    }


def covering(make_tables, certificates, hosts):
    """The pairs of certificate and host of which one covers the other."""
    rows = batch_rows(make_tables(study_of(certificates, hosts)), ["certificate_coverage"])["certificate_coverage"]
    found = rows.select("certificate_id", "host").rows()
    assert len(found) == len(set(found))
    return set(found)


def by_hand(certificates, hosts):
    return {
        (str(i), host)
        for i, names in enumerate(certificates)
        for host in hosts
        if any(covers(name, host) for name in names)
    }


def test_rules(make_tables) -> None:
    names = [
        "example.com",
        "*.example.com",
        "f*.part.test",
        "*.0.0.1",
        "127.0.0.2",
        "2001:db8::1",
        "*.*.deep.test",
        "*",
    ]
    yes = ["example.com", "www.example.com", "www.example.com.", "127.0.0.2", "2001:db8::1", "xn--a.example.com"]
    no = [
        "a.b.example.com", "foo.part.test", "127.0.0.1", "example.org", "*.example.com", ".example.com", "com",
        "a.b.deep.test", "f*.part.test", "notexample.com",
    ]  # fmt: skip
    assert covering(make_tables, [names], [*yes, *no]) == {("0", host) for host in yes}


def test_names_that_are_not_known_are_no_answer(make_tables) -> None:
    rows = {"certificates": [{"certificate_id": "without"}, {"certificate_id": "bare", "san_count": 0}]}
    facts = batch_rows(make_tables(rows), ["certificate_facts"])["certificate_facts"]
    assert dict(facts.select("certificate_id", "names_known").rows()) == {"without": False, "bare": True}


def test_a_certificate_with_several_chains_has_the_first_wherever_its_rows_lie(make_tables) -> None:
    """Servers send one certificate with different chains, and each shard has the chain that it saw."""
    sizes = {"leaf": 10, "short": 1, "long": 1000}
    rows = [
        *({"certificate_id": name, "der_bytes": size, "chain": [name]} for name, size in sizes.items()),
        {"certificate_id": "leaf", "der_bytes": 10, "chain": ["leaf", "short"]},
        {"certificate_id": "leaf", "der_bytes": 10, "chain": ["leaf", "long"]},
        {"certificate_id": "leaf", "der_bytes": 10},
    ][1:]
    for ordered in (rows, rows[::-1]):
        facts = batch_rows(make_tables({"certificates": ordered}), ["certificate_facts"])["certificate_facts"]
        assert dict(facts.select("certificate_id", "chain_bytes").rows())["leaf"] == 1010


label = st.sampled_from(["a", "b", "*", "a*", "xn--b", "1", ""])
text = st.lists(label, min_size=1, max_size=4).map(".".join)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(certificates=st.lists(st.lists(text, max_size=5, unique=True), max_size=4), hosts=st.lists(text, max_size=6))
def test_equal_to_one_at_a_time(make_tables, certificates, hosts) -> None:
    # A name of digits and dots alone that is no address cannot come up: no such top-level domain exists.
    hosts = [host for host in hosts if is_ip(host) or not set(host) <= set("0123456789.")]
    assert covering(make_tables, certificates, hosts) == by_hand(certificates, hosts)


def test_real_certificates(make_tables, shared) -> None:
    """295 real leaves against every host that was seen with any of them."""
    leaves = [json.loads(line) for line in (shared / "data/certificates/san_lists.jsonl").read_text().splitlines()]
    certificates = [sorted({name.lower() for name in leaf["sanList"]}) for leaf in leaves]
    hosts = sorted({host for leaf in leaves for host in leaf["seen_hosts"]})
    found = covering(make_tables, certificates, hosts)
    assert found == by_hand(certificates, hosts)
    seen = [(str(i), host) in found for i, leaf in enumerate(leaves) for host in leaf["seen_hosts"]]
    assert sum(seen) / len(seen) > 0.9  # a browser had accepted nearly all of them for these hosts


@pytest.mark.parametrize(
    ("common_name", "names", "host", "answer"),
    [
        ("a.test", [], "a.test", False),
        ("*.a.test", ["b.test"], "www.a.test", False),
        ("a.test", ["a.test"], "a.test", True),
        (None, [], "a.test", False),
    ],
)
def test_a_common_name_covers_nothing(make_tables, common_name, names, host, answer) -> None:
    rows = study_of([names], [host])
    rows["certificates"][0]["subject_cn"] = common_name
    found = batch_rows(make_tables(rows), ["certificate_coverage"])["certificate_coverage"]
    assert (found.height == 1) == answer


LABELS = ["a", "b", "c", "www", "xn--bcher-kva", "a-b", "1"]
PAIRS = 100_000 if os.environ.get("ORIGINSET_SOAK") == "full" else 10_000
HOSTS_EACH = 50


class Verifier:
    """cryptography's verifier of server certificates, asked about leaves that one authority signs."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
        self.now = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
        usage = x509.KeyUsage(
            digital_signature=False,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        own = self._builder(self.name).add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        identifier = x509.SubjectKeyIdentifier.from_public_key(self.key.public_key())
        own = own.add_extension(usage, critical=True).add_extension(identifier, critical=False)
        self.policy = (
            verification.PolicyBuilder().time(self.now).store(verification.Store([own.sign(self.key, hashes.SHA256())]))
        )

    def _builder(self, subject):
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self.now - dt.timedelta(days=1))
            .not_valid_after(self.now + dt.timedelta(days=1))
        )

    def leaf(self, names):
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        return (
            self._builder(x509.Name([]))
            .add_extension(x509.SubjectAlternativeName([general_name(name) for name in names]), critical=True)
            .add_extension(x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(identifier, critical=False)
            .sign(self.key, hashes.SHA256())
        )

    def covers(self, leaf, host) -> bool:
        try:
            self.policy.build_server_verifier(general_name(host)).verify(leaf, [])
        except verification.VerificationError as error:
            if "no matching subjectAltName" not in str(error):
                raise  # it found something else to say, and was no oracle
            return False
        return True


def general_name(text):
    return x509.IPAddress(ipaddress.ip_address(text)) if is_ip(text) else x509.DNSName(text)


@pytest.mark.soak
def test_equal_to_a_verifier_of_certificates(make_tables) -> None:
    """100,000 generated pairs; a tenth of that in an ordinary run."""
    source = random.Random(9525)  # noqa: S311 - the same pairs every time
    addresses = ["192.0.2.1", "192.0.2.2", "2001:db8::1"]

    def some_name(*, wildcard: bool) -> str:
        if source.random() < 0.1:
            return source.choice(addresses)
        labels = [source.choice(LABELS) for _ in range(source.randint(0, 2))]
        return ".".join(
            [*(["*"] if wildcard and source.random() < 0.4 else []), *labels, source.choice(["x", "y"]), "test"]
        )

    verifier = Verifier()
    certificates = [
        list(dict.fromkeys(some_name(wildcard=True) for _ in range(source.randint(1, 5))))
        for _ in range(PAIRS // HOSTS_EACH)
    ]
    expected = {}
    for number, names in enumerate(certificates):
        leaf = verifier.leaf(names)
        for _ in range(HOSTS_EACH):
            near = source.choice(names).replace("*", source.choice(LABELS))
            host = near if source.random() < 0.3 else some_name(wildcard=False)
            expected[str(number), host] = verifier.covers(leaf, host)
    found = covering(make_tables, certificates, {host for _, host in expected})
    assert found & expected.keys() == {pair for pair, value in expected.items() if value}
    assert 0.2 < sum(expected.values()) / len(expected) < 0.8
