"""The scripts of ``plan certificate`` by the programs that they call: certbot, lego 4, and in ``make soak`` lego 5."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from certificate_plans import TODAY, USUAL, written
from cryptography.hazmat.primitives import serialization

from originset.crawler.testbed.servers.certificate_authority import Authority

FULL = os.environ.get("ORIGINSET_SOAK") == "full"
LEGO_5 = Path(__file__).parents[3] / "build" / "lego-5" / "lego"
WANTED = ["www.site.test", "static.site.test", "*.old.test"]


def script(run, folder: Path, target: str, *options: str) -> str:
    plan = written(folder, USUAL, TODAY)
    done = run("plan", "certificate", "--for", target, "--plan", plan, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def calls(folder: Path, text: str, program: str, *arguments: str) -> list[list[str]]:
    """The arguments with which the script calls the program, in its stead."""
    shim = folder / program
    shim.write_text('#!/bin/sh\nfor word; do printf "%s\\n" "$word"; done >> "$0.calls"; echo >> "$0.calls"\n')
    shim.chmod(0o755)
    (folder / "change.sh").write_text(text)
    path = {"PATH": f"{folder}:/usr/bin:/bin"}
    subprocess.run(["/bin/sh", folder / "change.sh", *arguments], env=path, check=True)
    return [call.split("\n") for call in (folder / f"{program}.calls").read_text().rstrip("\n").split("\n\n")]


def decided(folder: Path, name: str, names: list[str], arguments: list[str]) -> dict[str, object]:
    """What certbot decides where it has a certificate of that name with those names."""
    authority = Authority(folder / "authority")
    issued = authority.issue(names)
    key = serialization.load_pem_private_key(issued.key.read_bytes(), None)
    lineage = {
        "name": name,
        "certificate": issued.chain.read_text().split("-----END CERTIFICATE-----")[0] + "-----END CERTIFICATE-----\n",
        "key": key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode(),
        "chain": authority.root.read_text(),
    }
    (folder / "lineage.json").write_text(json.dumps(lineage))
    program = Path(__file__).parents[2] / "fixtures" / "certbot_decision.py"
    done = subprocess.run(
        [sys.executable, program, folder / "certbot-files", folder / "lineage.json", *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_certbot_renews_the_certificate_that_it_has(run, tmp_path: Path) -> None:
    """Also where the new list lacks a name of the old."""
    (arguments,) = calls(tmp_path, script(run, tmp_path, "certbot", "--cert-name", "shop"), "certbot", "--dry-run")
    made = decided(tmp_path, "shop", ["www.site.test", "gone.site.test"], arguments)
    assert made == {
        "verb": "certonly",
        "name": "shop",
        "names": [*WANTED, "192.0.2.7"],
        "dry_run": True,
        "action": "renew",
        "lineage": "shop",
    }


def test_under_another_name_certbot_would_make_a_second_one(run, tmp_path: Path) -> None:
    (arguments,) = calls(tmp_path, script(run, tmp_path, "certbot"), "certbot")
    made = decided(tmp_path, "shop", ["www.site.test"], arguments)
    assert (made["name"], made["action"], made["lineage"]) == ("www.site.test", "newcert", None)


def lego(generation: int) -> str | None:
    """A lego of that generation, if one is there; 5 names its certificates by an option."""
    for path in filter(None, (shutil.which("lego"), shutil.which(LEGO_5))):
        said = subprocess.run([path, "run", "--help"], capture_output=True, text=True, check=False).stdout
        if ("--cert.name" in said) == (generation == 5):
            return path
    return None


def legos() -> list[tuple[str, int]]:
    """What is tried: lego 5 is built by `make soak`, and without it tried where it is installed."""
    return [("lego4", 4), *([("lego", 5)] if FULL or lego(5) else [])]


@pytest.mark.soak
@pytest.mark.parametrize(("target", "generation"), legos())
def test_lego_takes_the_arguments(run, tmp_path: Path, target: str, generation: int) -> None:
    """All the way to the CA, at whose address nobody is."""
    path = lego(generation)
    if path is None and not (FULL or os.environ.get("ORIGINSET_REQUIRE_TESTBED")):
        pytest.skip(f"no lego {generation} is installed")
    assert path is not None
    usual = ("--email", "a@site.test", "--accept-tos", "--http", "--path", str(tmp_path / "lego-files"))
    ca = ("--server", "https://127.0.0.1:1/directory")
    name = ("--cert-name", "static.site.test")
    (arguments,) = calls(tmp_path, script(run, tmp_path, target, *name), "lego", *usual, *ca)
    named = [word for word, before in zip(arguments[1:], arguments, strict=False) if before == "--domains"]
    first = "static.site.test" if generation == 4 else "www.site.test"
    assert sorted(named) == sorted([*WANTED, "192.0.2.7"])
    assert named[0] == first
    # It asks a CA that does not answer again for some time.
    try:
        done = subprocess.run([path, *arguments], capture_output=True, text=True, check=False, timeout=5)
        said = done.stdout + done.stderr
    except subprocess.TimeoutExpired as error:
        said = b"".join(part for part in (error.stdout, error.stderr) if part).decode()
    assert "not defined" not in said
    assert any((tmp_path / "lego-files" / "accounts").rglob("*.key")), said
    wrong = subprocess.run([path, *arguments, "--no-such"], capture_output=True, text=True, check=False, timeout=60)
    assert "not defined: -no-such" in wrong.stdout + wrong.stderr


@pytest.mark.parametrize("name", ["-x", "--dry-run", "..", "a/b", "a\nb"])
@pytest.mark.parametrize("target", ["certbot", "lego", "lego4"])
def test_names_that_programs_take_for_something_else(run, tmp_path: Path, target: str, name: str) -> None:
    plan = written(tmp_path, USUAL, TODAY)
    done = run("plan", "certificate", "--for", target, "--plan", plan, f"--cert-name={name}", "--out", tmp_path / "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert "is no name that" in done.stderr
    assert not (tmp_path / "out").exists()


def test_lego_4_knows_a_certificate_by_a_domain_of_it(run, tmp_path: Path) -> None:
    plan = written(tmp_path, USUAL, TODAY)
    done = run("plan", "certificate", "--for", "lego4", "--plan", plan, "--cert-name", "shop")
    assert (done.returncode, done.stdout) == (2, "")
    assert '"shop" is no name of the certificate' in done.stderr
