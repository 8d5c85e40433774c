"""``originset certificate``: every file parses as what it is, holds the names as data, and no key leaves unasked."""

import base64
import ipaddress
import json
import shlex
import stat
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from certificate_plans import TODAY, USUAL, written
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

GOLDEN = Path(__file__).parents[2] / "fixtures" / "certificates"
HOSTILE = [
    'a".test', "a'.test", "$(id).test", "`id`.test", "a;id.test", "a\nb.test", "*/.test", "--- x.test", "a: b.test",
    "\u202etset.test", "x" * 300 + ".test", "__proto__", "*.*.test", "a b.test", "-d.test", "", ".", "xn--\u00e9.test",
    "a_b.test", "127.1", "\x1b[2J.test", "single",
]  # fmt: skip


@pytest.mark.parametrize(
    ("target", "golden"),
    [
        ("certbot", "certbot.sh"),
        ("lego", "lego.sh"),
        ("lego4", "lego4.sh"),
        ("cert-manager", "cert-manager.yaml"),
        ("json", "names.json"),
    ],
)
def test_files_are_as_reviewed_and_stable(run, tmp_path: Path, target: str, golden: str) -> None:
    path = written(tmp_path, USUAL, TODAY)
    done = run("plan", "certificate", "--for", target, "--plan", path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (GOLDEN / golden).read_text()
    assert "to ask others for, 2 names" in done.stderr
    again = run("plan", "certificate", "--for", target, "--plan", path, "--out", tmp_path / golden)
    assert (again.returncode, again.stdout) == (0, "")
    assert (tmp_path / golden).read_text() == done.stdout


@pytest.mark.promise("keys-are-private")
def test_a_request_signed_by_a_new_key(run, tmp_path: Path) -> None:
    path = written(tmp_path, USUAL, TODAY)
    done = run("plan", "certificate", "--for", "csr", "--plan", path, "--new-key", tmp_path / "key.pem")
    assert done.returncode == 0, done.stderr
    request = x509.load_pem_x509_csr(done.stdout.encode())
    assert request.is_signature_valid
    names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["www.site.test", "static.site.test", "*.old.test"]
    assert names.get_values_for_type(x509.IPAddress) == [ipaddress.ip_address("192.0.2.7")]
    assert stat.S_IMODE((tmp_path / "key.pem").stat().st_mode) == 0o600
    key = serialization.load_pem_private_key((tmp_path / "key.pem").read_bytes(), None)
    assert key.public_key() == request.public_key()
    assert "PRIVATE" not in done.stdout + done.stderr
    assert done.stdout.isascii()
    again = run("plan", "certificate", "--for", "csr", "--plan", path, "--new-key", tmp_path / "key.pem")
    assert again.returncode == 2
    assert "File exists" in again.stderr


@pytest.mark.promise("keys-are-private")
def test_a_request_signed_by_the_key_that_is_there(run, tmp_path: Path) -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "key.pem").write_bytes(text)
    done = run(
        "plan", "certificate", "--for", "csr", "--plan", written(tmp_path, [], TODAY), "--key", tmp_path / "key.pem"
    )
    assert done.returncode == 0, done.stderr
    assert x509.load_pem_x509_csr(done.stdout.encode()).public_key() == key.public_key()
    assert sorted(entry.name for entry in tmp_path.iterdir() if "key" in entry.name) == ["key.pem"]
    encrypted = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"x")
    )
    for bad, said in ((encrypted, "passphrase"), (b"none", "no private key")):
        (tmp_path / "key.pem").write_bytes(bad)
        refused = run(
            "plan", "certificate", "--for", "csr", "--plan", tmp_path / "plan.json", "--key", tmp_path / "key.pem"
        )
        assert refused.returncode == 2
        assert said in refused.stderr


@pytest.mark.promise("configurations-hold-origins-only")
def test_hostile_names_stay_data_or_stay_out(run, tmp_path: Path) -> None:
    """Each text parses as its format and holds no name that a certificate cannot; each of those is named with why."""
    path = written(tmp_path, [(name, True) for name in HOSTILE], [*TODAY, *HOSTILE])
    wanted = ["www.site.test", "*.old.test"]
    texts = {}
    for target in ("certbot", "lego", "lego4", "cert-manager", "json"):
        done = run("plan", "certificate", "--for", target, "--plan", path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.isascii()
        assert done.stderr.count("left out") >= len(set(HOSTILE))
        assert done.stderr.isascii()
        assert "\x1b" not in done.stderr
        texts[target] = done.stdout
    found = json.loads(texts["json"])
    assert {entry["name"] for entry in found["left_out"]} == set(HOSTILE)
    assert found["certificates"] == [{"names": wanted, "addresses": ["192.0.2.7"], "added": []}]
    for target, option in (("certbot", "-d"), ("lego", "--domains"), ("lego4", "--domains")):
        script = tmp_path / "change.sh"
        script.write_text(texts[target])
        assert subprocess.run(["/bin/sh", "-n", script], check=False).returncode == 0
        words = shlex.split(texts[target], comments=True)
        named = [word for word, before in zip(words[1:], words, strict=False) if before == option]
        assert named == (wanted if target == "certbot" else [*wanted, "192.0.2.7"])
    lines = [line for line in texts["cert-manager"].splitlines() if not line.startswith("#")]
    entries = [line.removeprefix("    - ") for line in lines if line.startswith("    - ")]
    assert [json.loads(entry) for entry in entries] == [*wanted, "192.0.2.7"]
    assert [line for line in lines if not line.startswith("    - ")] == ["spec:", "  dnsNames:", "  ipAddresses:"]


def test_the_script_calls_certbot_with_what_it_holds(run, tmp_path: Path) -> None:
    path = written(tmp_path, USUAL, TODAY)
    done = run(
        "plan", "certificate", "--for", "certbot", "--plan", path, "--cert-name", "it's mine", "--max-names", "3"
    )
    assert done.returncode == 0, done.stderr
    (tmp_path / "certbot").write_text('#!/bin/sh\nprintf "%s\\n" "$@" >> "$0.calls"; echo >> "$0.calls"\n')
    (tmp_path / "certbot").chmod(0o755)
    (tmp_path / "change.sh").write_text(done.stdout)
    subprocess.run(["/bin/sh", tmp_path / "change.sh", "--dry-run"], env={"PATH": f"{tmp_path}:/bin"}, check=True)
    first, second = (tmp_path / "certbot.calls").read_text().strip().split("\n\n")
    options = ["--renew-with-new-domains", "--keep-until-expiring", "--dry-run"]
    expected = ["certonly", "--cert-name", "it's mine", *options]
    assert first.split("\n") == [*expected, "-d", "www.site.test", "-d", "static.site.test", "-d", "*.old.test"]
    assert second.split("\n")[2:] == ["it's mine-2", *options, "--ip-address", "192.0.2.7"]
    assert "cannot share a connection" in done.stderr


def test_what_a_certificate_of_limited_size_keeps_first(run, tmp_path: Path) -> None:
    names = [f"n{number:03}.test" for number in range(150)] + ["www.site.test", "img.old.test"]
    path = written(tmp_path, [("new.site.test", True)], names)
    found = json.loads(run("plan", "certificate", "--for", "json", "--plan", path).stdout)
    sizes = [len(entry["names"]) for entry in found["certificates"]]
    assert sizes == [100, 53]
    assert found["certificates"][0]["names"][:3] == ["www.site.test", "new.site.test", "img.old.test"]
    assert {name for entry in found["certificates"] for name in entry["names"]} == {*names, "new.site.test"}


def test_names_that_are_not_known_are_not_guessed(run, tmp_path: Path, certificate_file) -> None:
    path = written(tmp_path, USUAL, None)
    done = run("plan", "certificate", "--for", "json", "--plan", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--current" in done.stderr
    done = run("plan", "certificate", "--for", "json", "--plan", path, "--current", certificate_file)
    assert done.returncode == 0, done.stderr
    (made,) = json.loads(done.stdout)["certificates"]
    assert made == {
        "names": ["www.site.test", "static.site.test", "x.old.test", "also.test"],
        "addresses": ["2001:db8::1"],
        "added": ["static.site.test", "x.old.test"],
    }
    content = json.loads(path.read_text())
    content["servers"][0]["server"] = "elsewhere.test"
    path.write_text(json.dumps(content))
    done = run("plan", "certificate", "--for", "json", "--plan", path, "--current", certificate_file)
    assert (done.returncode, done.stdout) == (2, "")
    assert 'does not cover "elsewhere.test"' in done.stderr
    der = x509.load_pem_x509_certificate(certificate_file.read_bytes()).public_bytes(serialization.Encoding.DER)
    version_3 = bytes.fromhex("a003020102")
    of_no_version = base64.encodebytes(der.replace(version_3, version_3[:-1] + b"\x03", 1)).decode()
    for bad in ("no", f"-----BEGIN CERTIFICATE-----\n{of_no_version}-----END CERTIFICATE-----\n"):
        (tmp_path / "bad.pem").write_text(bad)
        done = run("plan", "certificate", "--for", "json", "--plan", path, "--current", tmp_path / "bad.pem")
        assert done.returncode == 2
        assert "no certificate in PEM" in done.stderr


def test_a_certificate_that_has_expired_is_not_todays(run, tmp_path: Path) -> None:
    path, key = written(tmp_path, USUAL, None), ed25519.Ed25519PrivateKey.generate()
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "www.site.test")])
    names = x509.SubjectAlternativeName([x509.DNSName("www.site.test")])
    dates = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)
    built = x509.CertificateBuilder(name, name, key.public_key(), 1, *dates).add_extension(names, critical=False)
    (tmp_path / "old.pem").write_bytes(built.sign(key, None).public_bytes(serialization.Encoding.PEM))
    done = run("plan", "certificate", "--for", "json", "--plan", path, "--current", tmp_path / "old.pem")
    assert (done.returncode, done.stdout) == (2, "")
    assert "expired on 2026-03-01" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--for", "json"], "either --site or --plan"),
        (["--for", "csr", "--site", "www.site.test"], "--key or --new-key"),
        (["--for", "json", "--site", "www.site.test", "--new-key", "k.pem"], "--key or --new-key"),
        (["--for", "json", "--site", "www.site.test", "--cert-name", "x"], "certbot and lego"),
        (["--for", "json", "--site", "www.site.test"], "names of"),
    ],
)
def test_calls_that_are_refused(run, arguments: list[str], said: str) -> None:
    done = run("plan", "certificate", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
