"""``check lint`` as an operator runs it before a deployment."""

from __future__ import annotations

import json

import pytest

LIST = "host,address,certificate,upstream\na.test,192.0.2.1,a.test b.test,one\nb.test,192.0.2.1,{names},{upstream}\n"
HAPROXY = """\
frontend a
    mode tcp
    bind :443
    use_backend a if { req.ssl_sni a.test }
    use_backend b if { req.ssl_sni b.test }
"""
NGINX = "http {{ server {{ listen 443 ssl http2; server_name a.test b.test; {line} }} }}"


@pytest.fixture
def hosts(tmp_path):
    def write(names: str = "a.test b.test", upstream: str = "one"):
        path = tmp_path / "hosts.csv"
        path.write_text(LIST.format(names=names, upstream=upstream))
        return path

    return write


@pytest.mark.parametrize(("server", "text", "code"), [
    ("list", LIST.format(names="a.test b.test", upstream="one"), 0),
    ("list", LIST.format(names="a.test b.test", upstream="two"), 1),
    ("list", LIST.format(names="b.test", upstream="two"), 1),
    ("list", LIST.format(names="b.test", upstream="two").replace("a.test b.test,one", "a.test,one"), 0),
    ("nginx", NGINX.format(line="return 200;"), 0),
    ("nginx", NGINX.format(line="ssl_verify_client on;"), 0),  # 421
    ("nginx", NGINX.format(line="unheard_of on;"), 2),
    ("nginx", "http {", 2),
    ("nginx", "http {}", 2),
    ("nginx", NGINX.format(line="return 200;").replace("b.test", ""), 2),  # one host, no pair
    ("haproxy", HAPROXY, 1),
])  # fmt: skip
def test_exit_codes(run, tmp_path, server: str, text: str, code: int) -> None:
    path = tmp_path / "configuration"
    path.write_text(text)
    done = run("check", "lint", path, "--server", server)
    assert done.returncode == code, done.stdout + done.stderr


def test_json_has_verdict_change_and_place(run, hosts) -> None:
    done = run("check", "lint", hosts(upstream="two"), "--server", "list", "--format", "json")
    first, second = json.loads(done.stdout)
    assert first == {
        "opened_for": "a.test",
        "requested": "b.test",
        "verdict": "wrong site",
        "why": "one answers",
        "change": "a certificate for a.test that does not name b.test",
        "file": "hosts.csv",
        "line": "3",
    }
    assert second["opened_for"] == "b.test"


def test_sarif_and_github_name_the_line(run, hosts) -> None:
    path = hosts(names="b.test", upstream="two")
    done = run("check", "lint", path, "--server", "list", "--format", "sarif")
    (result,) = json.loads(done.stdout)["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("wrong site", "error")
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("hosts.csv", 3)
    done = run("check", "lint", path, "--server", "list", "--format", "github")
    assert done.stdout.startswith("::error file=hosts.csv,title=originset%3A wrong site::hosts.csv:3: b.test on a ")


def test_a_configuration_outside_of_the_folder_is_refused(run, hosts, tmp_path) -> None:
    (tmp_path / "other").mkdir()
    done = run("check", "lint", hosts(), "--server", "list", "--folder", tmp_path / "other")
    assert done.returncode == 2
    assert "is not below" in done.stderr


def test_strangers_texts_stay_texts(run, tmp_path) -> None:
    path = tmp_path / "nginx.conf"
    path.write_text('http { server { listen 443 ssl; server_name a.test; "\x1b[31m%0A::error" x; } }')
    for output_format in ("table", "json", "csv", "github", "sarif"):
        done = run("check", "lint", path, "--server", "nginx", "--format", output_format)
        assert done.returncode == 2
        assert "\x1b" not in done.stdout + done.stderr
        assert "\n::error" not in done.stdout
