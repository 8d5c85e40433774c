"""What a published manifest tells: what was measured how, and nothing of the machine and its owner."""

from __future__ import annotations

from typing import Any

import pytest

from originset.data.sanitising.manifest_publication import sanitised_manifest

ADDRESS = "203.0.113.77"


def crawl_run(**more: Any) -> dict[str, Any]:
    parameters = {
        "site_list": "secret.txt", "site_list_sha256": "0f", "vantage": "home", "vantage_ip": ADDRESS, "round": 1,
        "contact": "secret@example.org", "cluster": "tls://secret.example:8786", "captures": "s3://secret/captures",
        "resolver": ADDRESS, "shard": "1/2", "jobs": 2, "family": None, "respect_robots": True, "files": ["secret.har"],
        "provider_asns": [13335], "predecessor": "time", "of_a_later_version": "secret", **more,
    }  # fmt: skip
    return {
        "run_id": 1, "command": "crawl", "version": "0.1.0", "started_at": "2026-11-21T04:00:00+00:00",
        "ended_at": None, "parameters": parameters, "counts": {"made": {"ok": 3}, "left_over": 0, "first": "secret"},
    }  # fmt: skip


SETTINGS = {"browser": "chromium", "browser_version": "150.0.1", "device": "desktop", "family": None}
MANIFEST: dict[str, Any] = {
    "format": 1,
    "originset": "0.1.0",
    "vantages": ["home"],
    "captures": "/mnt/secret",
    "of_a_later_version": "secret",
    "browser": {"version": "150.0.1", "flags": ["--disable-sync", "--user-data-dir=/home/secret"], "path": "secret"},
    "site_list": {"source": "secret.csv", "sha256": "0f", "sites": 3},
    "rounds": [{"vantage": "home", "round": 1, "settings": SETTINGS | {"list": "secret"}}],
    "reference_data": {
        "ip_to_as": {"source": "secret.dat", "format": "pfx2as", "sha256": "0f"},
        "as_names": {"source": "https://example.org/names.csv", "date": "2026-06-17"},
    },
    "runs": [crawl_run()],
}


@pytest.mark.promise("artifacts-name-no-machine")
def test_what_is_left_of_a_manifest() -> None:
    found = sanitised_manifest(MANIFEST | {"merged": [MANIFEST | {"study": "secret"}]})
    assert "secret" not in str(found)
    assert ADDRESS not in str(found)
    merged = found.pop("merged")
    assert merged == [{"study": "study-1", **found}]
    assert found == {
        "format": 1,
        "originset": "0.1.0",
        "vantages": ["home"],
        "browser": {"version": "150.0.1", "flags": ["--disable-sync", "--user-data-dir"]},
        "site_list": {"sha256": "0f", "sites": 3},
        "rounds": [{"vantage": "home", "round": 1, "settings": SETTINGS}],
        "reference_data": {
            "ip_to_as": {"sha256": "0f"},
            "as_names": {"source": "https://example.org/names.csv", "date": "2026-06-17"},
        },
        "runs": [
            {
                "run_id": 1, "command": "crawl", "version": "0.1.0", "started_at": "2026-11-21T04:00:00+00:00",
                "ended_at": None, "counts": {"made": {"ok": 3}, "left_over": 0},
                "parameters": {
                    "site_list_sha256": "0f", "vantage": "home", "round": 1, "shard": "1/2", "jobs": 2, "family": None,
                    "respect_robots": True, "provider_asns": [13335], "predecessor": "time",
                },
            }
        ],
    }  # fmt: skip


def test_a_list_that_was_downloaded_is_named() -> None:
    listed = {"source": "tranco:ABCD:1000", "sha256": "0f", "id": "ABCD", "url": "https://tranco.example/ABCD"}
    found = sanitised_manifest({"site_list": listed, "runs": [crawl_run(site_list="tranco:ABCD:1000")]})
    assert found["site_list"] == listed
    assert found["runs"][0]["parameters"]["site_list"] == "tranco:ABCD:1000"


def test_fields_that_are_not_what_they_should_be_are_left_out() -> None:
    found = sanitised_manifest({"browser": "secret", "site_list": ["secret"], "reference_data": {"ip_to_as": "secret"}})
    assert found == {"browser": {}, "site_list": {}, "reference_data": {"ip_to_as": {}}}


def test_fields_of_another_shape_are_left_out() -> None:
    found = sanitised_manifest({"browser": {"name": "chromium", "flags": 5}, "site_list": [7]})
    assert found == {"browser": {"name": "chromium", "flags": []}, "site_list": {}}
