"""Whatever a configuration says, it is read or refused with one error, and nothing outside the folder is opened."""

from __future__ import annotations

import os
from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lab_lint import READERS, lab_folder, linted
from mutated_configurations import mutated

from originset.crawler.testbed.server_lab.situation_text import situations
from originset.data.errors import InputError
from originset.models.servers.configuration_files import ConfigurationFolder
from originset.models.servers.host_list import read_host_list
from originset.models.servers.shared_connections import shared_connections

SITUATIONS = [one for one in situations() if one.server in READERS]
MUTATIONS = 2_000 if os.environ.get("ORIGINSET_SOAK") == "full" else 200


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return lab_folder(tmp_path_factory.mktemp("lab") / "files")


def read_or_refuse(server: str, text: str, folder: Path) -> None:
    said = ""
    try:
        linted(server, text, folder)
    except InputError as error:
        said = str(error)
    assert "\n" not in said


@settings(max_examples=MUTATIONS, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_mutated_configuration_is_read_or_refused(folder, data) -> None:
    situation = data.draw(st.sampled_from(SITUATIONS))
    text = data.draw(mutated(situation, most=8))
    read_or_refuse(situation.server, text, folder)


@settings(max_examples=MUTATIONS, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    server=st.sampled_from(sorted(READERS)),
    text=st.text("{}[]<>\"'`#;:,&*!|%$\\/ \n\t\0ab-=.é443servlisten", max_size=80),
)
def test_any_text_is_read_or_refused(folder, server, text) -> None:
    read_or_refuse(server, text, folder)


@pytest.mark.parametrize(("server", "text"), [
    ("nginx", "a {" * 5_000),
    ("nginx", "include linted.conf;"),
    ("apache", "<Directory a>\n" * 5_000),
    ("apache", "Include linted.conf"),
    ("caddy", "a {\n" * 5_000),
    ("caddy", "(a) {\n\timport a\n}\na.test {\n\timport a\n}"),
    ("caddy", "(a0) {\n\tlog\n}\n" + "".join(
        f"(a{n}) {{\n" + f"\timport a{n - 1}\n" * 20 + "}\n" for n in range(1, 9)) + "a.test {\n\timport a8\n}"),
    ("envoy", "a: " + "[" * 5_000),
    ("envoy", "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"),
    ("envoy", "a: &-a [x, x]\nb: &-b [*-a, *-a]\n"),
    ("envoy", '{"a":&a [x, x], "b":*a}'),
    ("envoy", "a: " + "[" * 200 + "]" * 200),
    ("envoy", "a: 1" + ":59" * 1_000),
    ("envoy", "a: 1" + ":59" * 300 + ".0"),
    ("envoy", "static_resources: []"),
    ("envoy", "!!python/object/apply:os.system ['true']"),
])  # fmt: skip
@pytest.mark.promise("inputs-are-bounded")
def test_what_never_ends_is_refused(server: str, text: str, folder) -> None:
    with pytest.raises(InputError):
        linted(server, text, folder)


@pytest.mark.promise("lint-stays-inside")
def test_nothing_outside_of_the_folder_is_opened(tmp_path) -> None:
    inside = lab_folder(tmp_path / "inside")
    (tmp_path / "outside.pem").write_bytes((inside / "all.pem").read_bytes())
    (inside / "link.pem").symlink_to(tmp_path / "outside.pem")
    os.mkfifo(inside / "pipe.pem")
    found = ConfigurationFolder(inside)
    for name in ("../outside.pem", str(tmp_path / "outside.pem"), "link.pem", "pipe.pem", "a\0b", "x" * 5_000, "."):
        assert found.path(name) is None
        assert found.certificate([name]) is None
        assert not found.matching(name)
    assert found.certificate(["all.pem"]) == {"www.lab.test", "static.lab.test", "other.lab.test"}
    assert found.matching("*.pem") is None  # a link among them leads out


@pytest.mark.promise("lint-stays-inside")
def test_further_folders_are_read_and_no_others(tmp_path) -> None:
    for name in ("nginx", "letsencrypt", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.conf").write_text("")
        (tmp_path / "nginx" / f"{name}.link").symlink_to(tmp_path / name / "a.conf")
    (tmp_path / "link").symlink_to("nginx")
    folder = ConfigurationFolder(tmp_path / "link", tmp_path / "letsencrypt")
    inside, further = tmp_path / "nginx" / "a.conf", tmp_path / "letsencrypt" / "a.conf"
    for name in ("a.conf", str(inside), str(tmp_path / "link" / "a.conf"), "n*.link"):
        assert folder.matching(name) == [inside]
    for name in (str(further), str(tmp_path / "letsencrypt" / "*.conf"), "letsencrypt.link"):
        assert folder.matching(name) == [further]
    for name in (str(tmp_path / "other" / "a.conf"), "other.link", "*.link", "../letsencrypt/a.conf"):
        assert folder.matching(name) is None
    assert (folder.name(inside), folder.name(further)) == ("a.conf", str(further))


def test_a_list(tmp_path) -> None:
    path = tmp_path / "hosts.csv"
    path.write_text(
        "host,address,certificate,upstream,client_certificate\n"
        "a.test,192.0.2.1,a.test b.test c.test,one,\n"
        "b.test,192.0.2.1,b.test,one,our CA\n"
        "c.test,192.0.2.1,missing.pem,two,\n"
        "d.test,192.0.2.2,a.test d.test,one,\n"
    )
    configuration = read_host_list(path, ConfigurationFolder(tmp_path))
    found = {(one.opened_for[0] + one.requested[0]): one.verdict for one in shared_connections(configuration)}
    assert found["ab"] == "client certificate bypassed"
    assert found["ba"] == found["ad"] == found["da"] == found["bc"] == "separate"
    assert found["ac"] == found["ca"] == found["cb"] == "wrong site"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_list_as_spreadsheets_write_it(delimiter: str, tmp_path) -> None:
    path = tmp_path / "hosts.csv"
    rows = ["host,address,certificate,upstream", "a.test,192.0.2.1,a.test b.test,1", "b.test,192.0.2.1,b.test,2"]
    path.write_text("\r\n".join(rows).replace(",", delimiter), encoding="utf-8-sig")
    found = shared_connections(read_host_list(path, ConfigurationFolder(tmp_path)))
    assert [one.verdict for one in found] == ["wrong site", "separate"]


@pytest.mark.parametrize("row", [
    "a.test,192.0.2.1,a.test", "a.test,nowhere,a.test,one", "a b,192.0.2.1,a.test,one", "a.test,192.0.2.1,a.test,",
    "a.test,192.0.2.1,a.test,one,more", '"a.test',
])  # fmt: skip
def test_a_list_with_a_bad_row_is_refused(row: str, tmp_path) -> None:
    path = tmp_path / "hosts.csv"
    path.write_text(f"host,address,certificate,upstream\n{row}\n")
    with pytest.raises(InputError, match="line 2"):
        read_host_list(path, ConfigurationFolder(tmp_path))


@pytest.mark.parametrize(("server", "text"), [
    ("apache", "<a" + " " * 20_000 + "\n"),
    ("haproxy", "frontend a\n    bind :443 ssl crt-list long.txt\n"),
])  # fmt: skip
def test_a_line_of_spaces_is_read_at_once(server: str, text: str, folder) -> None:
    (folder / "long.txt").write_text("a" + " " * 20_000 + "]\n")
    read_or_refuse(server, text, folder)


@pytest.mark.promise("inputs-are-bounded")
def test_a_line_longer_than_any_is_not_understood(folder) -> None:
    found, _ = linted("haproxy", f"frontend a\n    bind :443 ssl crt all.pem\n    log {'x' * (1 << 16)}\n", folder)
    assert "linted.conf:3" in [str(one.place) for one in found.not_understood]


def test_an_include_follows_no_link_to_a_folder(tmp_path) -> None:
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites" / "a.conf").write_text("")
    (tmp_path / "sites" / ".a.conf.swp").write_text("")
    assert ConfigurationFolder(tmp_path).matching("s*/*") == [tmp_path / "sites" / "a.conf"]
    assert ConfigurationFolder(tmp_path).matching("sites/*.none") == []
    assert ConfigurationFolder(tmp_path).matching("absent/*.conf") is None
    for number in range(10):
        (tmp_path / f"link{number}").symlink_to(".")
    assert ConfigurationFolder(tmp_path).matching("*/" * 12 + "*.conf") is None


def test_includes_look_at_no_more_entries_than_allowed(tmp_path, monkeypatch) -> None:
    for number in range(5):
        (tmp_path / f"{number}.conf").write_text("")
    monkeypatch.setattr("originset.models.servers.configuration_files._MAX_ENTRIES", 12)
    folder = ConfigurationFolder(tmp_path)
    assert [len(found) if (found := folder.matching("*.conf")) else None for _ in range(3)] == [5, 5, None]


@pytest.mark.parametrize(("server", "text"), [
    ("nginx", "http { server { listen %s ssl; server_name a.test; } }"),
    ("nginx", "http { server { listen *:%s ssl; server_name a.test; } }"),
    ("nginx", "http { server { listen 192.0.2.1:%s ssl; server_name a.test; } }"),
    ("apache", "<VirtualHost *:%s>\nServerName a.test\nSSLEngine on\n</VirtualHost>"),
    ("haproxy", "frontend a\n    bind :%s ssl crt all.pem\n"),
])  # fmt: skip
def test_a_port_of_many_digits_is_not_understood(server: str, text: str, folder) -> None:
    found, _ = linted(server, text % ("4" * 5_000), folder)
    assert str(found.not_understood[0].place).startswith("linted.conf:")


@pytest.mark.parametrize(("valid", "invalid"), [(b"\x2a\x03\x05", b"\x2a\x03\x04"), (b"\x02\x01\x02", b"\x02\x01\x07")])
def test_an_invalid_certificate_may_cover_any_host(valid: bytes, invalid: bytes, tmp_path) -> None:
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    day = datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, day, day)
    for number in (4, 5):
        builder = builder.add_extension(
            x509.UnrecognizedExtension(x509.ObjectIdentifier(f"1.2.3.{number}"), b""), critical=False
        )
    der = builder.sign(key, hashes.SHA256()).public_bytes(Encoding.DER).replace(valid, invalid, 1)
    text = b64encode(der).decode()
    (tmp_path / "a.pem").write_text(f"-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
    assert ConfigurationFolder(tmp_path).certificate(["a.pem"]) is None
