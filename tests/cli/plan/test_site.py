"""``originset plan site``: a table or a file; sites that are not there are named with their neighbours."""

import json
from pathlib import Path

import pytest
from json_schemas import validator

from originset.cli.plan.site import _cost
from originset.models.plans.certificate_costs import costs


def test_the_table_says_what_to_do_with_each_host(run) -> None:
    done = run("plan", "site", "www.site.test")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split("  ")[0] for line in lines[1:]] == ["announce"] * 3 + ["leave out"] * 3 + ["ask the provider"]
    assert lines[1].split()[1:4] == ["www.site.test", "static.cdn.test", "443"]
    assert "421" in next(line for line in lines if "no.test" in line)
    assert "2 visits from 2 named vantages, 2026-11-20 to 2026-11-21" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_the_file_is_versioned_ascii_json(run, tmp_path: Path) -> None:
    done = run("plan", "site", "www.site.test", "--max-additions", "0", "--out", tmp_path / "plan.json")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "plan.json").read_text()
    made = json.loads(text)
    validator("plan").validate(made)
    assert text.isascii()
    assert (made["format"], made["version"], made["site"]) == ("originset-plan", 1, "www.site.test")
    assert made["basis"] == {
        "study": "S",
        "visits": 2,
        "vantages": 2,
        "first_visit": "2026-11-20",
        "last_visit": "2026-11-21",
    }
    assert [entry["origin"] for entry in made["servers"][0]["announce"]] == [
        "https://static.cdn.test",
        "https://www.site.test",
        "https://api.site.test",
    ]
    assert (made["additions"], made["additions_not_taken"]) == ([], 1)
    assert list(tmp_path.iterdir()) == [tmp_path / "plan.json"]
    assert run("plan", "site", "www.site.test", "--max-additions", "0", "--out", "-").stdout == text


def test_a_list_of_names_that_are_to_be_left_alone(run, tmp_path: Path) -> None:
    (tmp_path / "denied").write_text("cdn.test\nlacks.test\n")
    done = run("plan", "site", "www.site.test", "--exclude-from", tmp_path / "denied", "--out", tmp_path / "plan.json")
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / "plan.json").read_text())
    assert {entry["origin"] for entry in made["servers"][0]["announce"]} == {
        "https://www.site.test",
        "https://api.site.test",
    }
    assert made["additions"] == []
    assert [left["reason"] for left in made["additions_left_out"]] == ["excluded"]
    (tmp_path / "denied").write_text("site.test\n")
    own = run("plan", "site", "www.site.test", "--exclude-from", tmp_path / "denied")
    assert own.returncode == 2
    assert "www.site.test answers for the site's document, so it cannot be excluded" in own.stderr


@pytest.mark.parametrize(
    ("site", "said"),
    [
        ("site.test", "near it are: www.site.test"),
        ("www.sitr.test", "near it are: www.site.test"),
        ("zzz", "list its sites"),
        ("gone.test", "every visit of gone.test failed"),
        ("x' OR 1=1 --", "has no site"),
    ],
)
def test_a_site_without_a_plan_is_wrong_usage(run, site: str, said: str) -> None:
    done = run("plan", "site", site)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_place_that_cannot_be_written(run, tmp_path: Path) -> None:
    done = run("plan", "site", "www.site.test", "--out", tmp_path / "no" / "plan.json")
    assert done.returncode == 2
    assert "cannot be written" in done.stderr


@pytest.mark.parametrize(
    ("chain", "said"),
    [
        ([1000, 2575], "3593 bytes grow by them, which crosses QUIC's limit before validation (3600 bytes)"),
        ([1000], "bytes grow by them, which crosses no limit"),
        ([1000, None], "the size of the chain is not known"),
    ],
)
def test_what_a_name_costs_in_words(chain: list[int | None], said: str) -> None:
    line = _cost(costs(["own.site.test"], chain))
    assert line.startswith("1 name to add: 15 bytes in every full handshake, 1 issuance; ")
    assert said in line


def test_advice_records_and_costs_are_said(run, tmp_path: Path) -> None:
    done = run("plan", "site", "www.site.test", "--out", tmp_path / "plan.json")
    made = json.loads((tmp_path / "plan.json").read_text())
    assert [(one["browser"], one["protocol"], one["heeds_origin"]) for one in made["advice"]] == [
        ("chromium", "h2", False),
        ("chromium", "h3", True),
        ("firefox", "h2", True),
        ("firefox", "h3", False),
    ]
    assert made["https_records"][0]["line"] == 'www.site.test. 3600 IN HTTPS 1 . alpn="h3,h2"'
    assert (made["costs"]["leaf_bytes"], made["costs"]["chain_bytes"]) == (1000, 3593)
    assert (made["costs"]["added_bytes"], made["costs"]["crosses_quic_limit"]) == (0, False)
    assert "publish, if it answers over HTTP/3, which was not seen: www.site.test. 3600 IN HTTPS" in done.stderr
    own = next(entry for entry in made["servers"][0]["announce"] if entry["origin"] == "https://www.site.test")
    assert own["coalesces_today"] is True


def test_excluded_hosts_are_neither_announced_nor_added(run) -> None:
    done = run("plan", "site", "www.site.test", "--exclude", "API.site.test", "--exclude", "lacks.test")
    assert done.returncode == 0, done.stderr
    assert [line.split("  ")[0] for line in done.stdout.splitlines() if "excluded, as asked" in line] == [
        "leave out",
        "leave out",
        "do not add",
    ]
    own = run("plan", "site", "www.site.test", "--exclude", "www.site.test")
    assert (own.returncode, "cannot be excluded" in own.stderr) == (2, True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mix.csv", "browser,protocol,share\nFirefox,h2,0.5\nchromium,h3,0.2\nchromium,h3,0.1\nother,,0.2\n"),
        ("mix.toml", "other = 0.2\n[firefox]\nh2 = 0.5\n[chromium]\nh3 = 0.3\n"),
    ],
)
def test_a_client_mix_weighs_what_names_save(run, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    done = run("plan", "site", "www.site.test", "--client-mix", tmp_path / name, "--out", "-")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert {kind: round(share, 3) for kind, share in made["client_mix"].items()} == {
        "chromium_h2": 0.0, "chromium_h3": 0.3, "firefox_h2": 0.5, "firefox_h3": 0.0, "other": 0.2,
    }  # fmt: skip
    assert [addition["connections_saved_mix"] for addition in made["additions"]] == [1.6]


def test_a_client_mix_of_another_spreadsheet(run, tmp_path: Path) -> None:
    texts = {"a.csv": "browser,protocol,share\nfirefox,h2,0.25\nother,,0.75\n"}
    texts["b.csv"] = texts["a.csv"].replace(",", ";").replace(".", ",")
    made = []
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        done = run("plan", "site", "www.site.test", "--client-mix", tmp_path / name, "--out", "-")
        assert done.returncode == 0, done.stderr
        made.append(json.loads(done.stdout)["client_mix"])
    assert made[0] == made[1]
    assert made[0]["firefox_h2"] == 0.25


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("mix.csv", "a,b\n1,2\n", "lacks one of the columns"),
        ("mix.csv", "browser,protocol,share\nlynx,h2,1\n", "lynx_h2"),
        ("mix.csv", "browser,protocol,share\nfirefox,h2,0.5\n", "add up to 0.5"),
        ("mix.csv", "browser,protocol,share\nfirefox,h2,nan\n", "not between 0 and 1"),
        ("mix.csv", "browser,protocol,share\nfirefox,h2\n", "not between 0 and 1"),
        ("mix.toml", "[firefox]\nh2 = true\n[chromium]\nh2 = []\n", "not between 0 and 1"),
        ("mix.toml", "[firefox]\nh2 = true\n", "not between 0 and 1"),
        ("mix.toml", "[firefox]\nh2 = 1" + "0" * 400, "not between 0 and 1"),
        ("mix.toml", "[firefox]\nh2 = 1" + "0" * 5000, "is not TOML"),
        ("mix.toml", "x = ?", "is not TOML at line 1, column 5"),
        ("mix.toml", "a = " + "[" * 5000, "is not TOML"),
        ("mix.csv", b"\xff\xfe", "is not UTF-8"),
    ],
)
def test_a_bad_client_mix_is_one_line(run, tmp_path: Path, name: str, text: str | bytes, said: str) -> None:
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    done = run("plan", "site", "www.site.test", "--client-mix", tmp_path / name)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert said in line
