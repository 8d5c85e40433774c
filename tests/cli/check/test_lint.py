"""``check lint`` as an operator runs it before a deployment."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest
from certificate_plans import written

from originset.crawler.testbed.servers.certificate_authority import Authority

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


def test_junit_tells_faults_from_what_is_unknown(run, tmp_path) -> None:
    path = tmp_path / "nginx.conf"

    def suite(text: str, server: str) -> ET.Element:
        path.write_text(text)
        return ET.fromstring(run("check", "lint", path, "--server", server, "--format", "junit").stdout)[0]  # noqa: S314

    for line, counts in (("return 200;", ["2", "0", "0"]), ("unheard_of on;", ["3", "0", "3"])):
        found = suite(NGINX.format(line=line), "nginx")
        assert [found.get(name) for name in ("tests", "failures", "errors")] == counts
        assert found.get("name") == "nginx.conf"
    (fault, *_) = suite(HAPROXY, "haproxy").iter("failure")
    assert (fault.get("type"), fault.get("message")[:35]) == ("wrong site", "b.test on a connection for a.test: ")


PLANNED = """\
http {{
    server {{ listen 192.0.2.1:443 ssl http2; server_name www.site.test; ssl_certificate www.pem; return 200; }}
    server {{ listen {address}:443 ssl http2; server_name static.site.test; ssl_certificate static.pem; {line} }}
    server {{ listen 192.0.2.1:443 ssl http2; server_name {also}; ssl_certificate www.pem; return 200; }}
}}
"""


@pytest.mark.parametrize(("configured", "expected"), [
    # Together it is answered by its own block, elsewhere by that of www, unless that block is here, too.
    (("192.0.2.1", "x.test", "return 200;"), ("safe", 2)),
    (("192.0.2.1", "img.old.test", "return 200;"), ("safe", 0)),
    (("192.0.2.2", "img.old.test", "return 200;"), ("wrong site", 1)),
    (("192.0.2.2", "img.old.test", "return 200; listen 192.0.2.1:443 ssl http2;"), ("safe", 0)),
    (("192.0.2.2", "img.old.test", "return 200; ssl_verify_client on;"), ("wrong site", 1)),
    (("192.0.2.1", "img.old.test", "unheard_of on;"), ("unknown", 2)),
])  # fmt: skip
def test_a_plan_before_it_is_deployed(run, tmp_path, configured, expected) -> None:
    """Its certificate covers static.site.test then, and the server announces it."""
    (address, also, line), (verdict, code) = configured, expected
    plan = written(tmp_path, [("static.site.test", True)], ["www.site.test", "*.old.test"])
    authority = Authority(tmp_path / "authority")
    for name, names in (("www", ["www.site.test", "*.old.test"]), ("static", ["static.site.test"])):
        (tmp_path / f"{name}.pem").write_bytes(authority.issue(names).chain.read_bytes())
    path = tmp_path / "nginx.conf"
    path.write_text(PLANNED.format(address=address, also=also, line=line))
    lint = ("check", "lint", path, "--server", "nginx", "--format", "json")
    today, then = (
        {
            (row["opened_for"], row["requested"]): row["verdict"]
            for row in json.loads(run(*lint, *options).stdout)
            if row["opened_for"] is not None
        }
        for options in ((), ("--plan", plan))
    )
    pair = ("www.site.test", "static.site.test")
    assert (today[pair], then[pair]) == ("unknown" if verdict == "unknown" else "separate", verdict)
    assert then[pair[::-1]] == today[pair[::-1]]  # the certificate of static stays as it is
    announced_only = then.get(("www.site.test", "img.old.test"))
    assert announced_only == ("unknown" if also == "x.test" or verdict == "unknown" else "safe")
    assert run(*lint, "--plan", plan).returncode == code


def test_a_plan_of_another_site_is_refused(run, hosts, tmp_path) -> None:
    done = run("check", "lint", hosts(), "--server", "list", "--plan", written(tmp_path, [], None))
    assert (done.returncode, "names no server of the plan of www.site.test" in done.stderr) == (2, True)


def test_a_configuration_outside_of_the_folder_is_refused(run, hosts, tmp_path) -> None:
    (tmp_path / "other").mkdir()
    done = run("check", "lint", hosts(), "--server", "list", "--folder", tmp_path / "other")
    assert done.returncode == 2
    assert "is not below" in done.stderr


def test_strangers_texts_stay_texts(run, tmp_path) -> None:
    path = tmp_path / "nginx.conf"
    path.write_text('http { server { listen 443 ssl; server_name a.test; "\x1b[31m%0A::error" x; } }')
    for output_format in ("table", "json", "csv", "github", "sarif", "junit"):
        done = run("check", "lint", path, "--server", "nginx", "--format", output_format)
        assert done.returncode == 2
        assert "\x1b" not in done.stdout + done.stderr
        assert "\n::error" not in done.stdout
