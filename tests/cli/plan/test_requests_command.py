"""``originset plan requests``: a file for each certificate of a rollout, which its program or format takes."""

import csv
import json
import shlex
import stat
import subprocess
from pathlib import Path

import pytest
import yaml
from cloudcoil.models.cert_manager.v1 import Certificate as CertManagerCertificate

CERTIFICATES = 40
NAMES = {f"c{n}": [f"s{n}.test", f"*.s{n}.test"] for n in range(CERTIFICATES)}


@pytest.fixture
def files(run, tmp_path: Path) -> tuple[Path, Path]:
    """An inventory with an RSA and an ECDSA certificate for each site, and a rollout of a name for all of them."""
    rows = ["certificate,names,key_holder,shared"]
    rows += [f"{name}{kind},{' '.join(names)},cdn," for name, names in NAMES.items() for kind in ("", "-ecdsa")]
    rows.append("lib,lib.cdn.test,cdn,true")
    inventory, pairs, rollout = (tmp_path / name for name in ("inventory.csv", "pairs.csv", "rings.json"))
    inventory.write_text("\n".join(rows) + "\n")
    traffic = [f"s{n}.test,lib.cdn.test,{n + 1}" for n in range(CERTIFICATES)]
    pairs.write_text("\n".join(["site,host,connections", *traffic]) + "\n")
    done = run("plan", "inventory", inventory, "--pairs", pairs, "--rollout", rollout, "--control-domain", "x.test")
    assert done.returncode == 0, done.stderr
    return inventory, rollout


def written(run, files: tuple[Path, Path], out: Path, target: str, *options: str) -> list[dict[str, str]]:
    call = ("plan", "requests", files[1], "--inventory", files[0], "--for", target, "--out", out, *options)
    done = run(*call)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    with (out / "index.csv").open() as file:
        return list(csv.DictReader(file))


def test_every_certificate_of_every_ring_has_a_file(run, files, tmp_path: Path) -> None:
    index = written(run, files, tmp_path / "out", "certbot")
    rings = json.loads(files[1].read_text())["rings"]
    expected = {(str(ring["ring"]), one["certificate"]): one for ring in rings for one in ring["certificates"]}
    assert {(row["ring"], row["certificate"]) for row in index} == set(expected)
    assert len(index) == 2 * CERTIFICATES
    paths = {path.relative_to(tmp_path / "out") for path in (tmp_path / "out").rglob("*.sh")}
    assert paths == {Path(row["file"]) for row in index}
    for row in index:
        words = shlex.split((tmp_path / "out" / row["file"]).read_text(), comments=True)
        named = [word for word, before in zip(words[1:], words, strict=False) if before == "-d"]
        added = expected[row["ring"], row["certificate"]]["names"]
        assert named == [*NAMES[row["certificate"].removesuffix("-ecdsa")], *added]
        assert (row["added"].split(" "), row["problem"]) == (added, "")
        assert words[words.index("--cert-name") + 1] == row["certificate"]
        assert row["file"].startswith(f"ring-{row['ring']}/")


def test_one_ring_alone(run, files, tmp_path: Path) -> None:
    index = written(run, files, tmp_path / "out", "lego", "--ring", "2")
    assert {row["ring"] for row in index} == {"2"}
    assert [path.name for path in sorted((tmp_path / "out").iterdir())] == ["index.csv", "ring-2"]


@pytest.mark.promise("keys-are-private")
def test_requests_and_their_keys(run, files, tmp_path: Path) -> None:
    index = written(run, files, tmp_path / "out", "csr", "--ring", "2")
    for row in index:
        path = tmp_path / "out" / row["file"]
        done = subprocess.run(
            ["openssl", "req", "-in", path, "-verify", "-noout", "-text"], capture_output=True, text=True, check=True
        )
        assert "verify OK" in done.stdout + done.stderr
        for name in [*NAMES[row["certificate"].removesuffix("-ecdsa")], *row["added"].split(" ")]:
            assert f"DNS:{name}" in done.stdout
        assert stat.S_IMODE(path.with_suffix(".key").stat().st_mode) == 0o600


def test_whole_resources_for_cert_manager(run, files, tmp_path: Path) -> None:
    index = written(run, files, tmp_path / "out", "cert-manager", "--issuer", 'le"\n: x')
    seen = set()
    for row in index:
        (made,) = yaml.safe_load_all((tmp_path / "out" / row["file"]).read_text())
        assert (made["apiVersion"], made["kind"]) == ("cert-manager.io/v1", "Certificate")
        assert made["spec"]["issuerRef"] == {"name": 'le"\n: x', "kind": "ClusterIssuer"}
        assert made["spec"]["secretName"] == made["metadata"]["name"]
        assert len(made["spec"]["dnsNames"]) == int(row["names"])
        assert set(made["spec"]) == {"secretName", "issuerRef", "dnsNames"}
        # By the schema that cert-manager publishes; a field that it does not have would be lost.
        by_schema = CertManagerCertificate.model_validate(made)
        assert by_schema.model_dump(mode="json", by_alias=True, exclude_unset=True) == made
        seen.add(made["metadata"]["name"])
    assert len(seen) == len(index)
    assert all(name.replace("-", "").isalnum() and name == name.lower() and len(name) < 64 for name in seen)


def test_what_cannot_have_a_file_is_in_the_index(run, tmp_path: Path) -> None:
    """Strangers' names of certificates lead to no other file, and to no option of a program."""
    odd = ["-x", "../../etc/passwd", "a\nb", "$(id)", "x" * 300, "\u202e"]
    rows = [["certificate", "names"], *([name, f"o{n}.test"] for n, name in enumerate(odd)), ["none", "bad_name"]]
    with (tmp_path / "inventory.csv").open("w") as file:
        csv.writer(file).writerows(rows)
    change = {"group": "experiment", "later": []}
    changes = [{**change, "certificate": name, "names": ["lib.test", "--dry-run"]} for name in odd]
    changes.append({**change, "certificate": "none", "names": ["*"]})
    rollout = {"seed": "1", "rings": [{"ring": 1, "connections_saved": 1, "certificates": changes}]}
    (tmp_path / "rings.json").write_text(json.dumps(rollout))
    index = written(run, (tmp_path / "inventory.csv", tmp_path / "rings.json"), tmp_path / "out", "certbot")
    assert len(index) == len(odd) + 1
    files = {row["file"] for row in index if row["file"]}
    assert {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.sh")} == files
    assert len(files) == 2  # of $(id) and the long one
    for path in files:
        words = shlex.split((tmp_path / "out" / path).read_text(), comments=True)
        assert "--dry-run" not in words
        assert words[-1] == "lib.test"
    assert all(row["problem"] for row in index)
    assert "has no name that can be in one" in index[-1]["problem"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--for", "cert-manager"], "takes --issuer"),
        (["--for", "csr", "--issuer", "x"], "takes --issuer"),
        (["--for", "csr", "--ring", "9"], "has no ring 9"),
    ],
)
def test_calls_that_are_refused(run, files, tmp_path: Path, options: list[str], said: str) -> None:
    done = run("plan", "requests", files[1], "--inventory", files[0], "--out", tmp_path / "out", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert not (tmp_path / "out").exists()


def test_files_that_do_not_belong_together(run, files, tmp_path: Path) -> None:
    call = ("plan", "requests", files[1], "--for", "csr", "--inventory")
    (tmp_path / "other.csv").write_text("certificate,names\nx,x.test\n")
    done = run(*call, tmp_path / "other.csv", "--out", tmp_path / "out")
    assert (done.returncode, "has no certificate" in done.stderr) == (2, True)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "kept").write_text("kept")
    done = run(*call, files[0], "--out", tmp_path / "full")
    assert (done.returncode, "is not empty" in done.stderr) == (2, True)
    files[1].write_text("{}")
    done = run(*call, files[0], "--out", tmp_path / "out")
    assert (done.returncode, "is not a rollout" in done.stderr) == (2, True)
