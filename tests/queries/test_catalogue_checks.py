"""The paper's three certificate checks, on pages small enough to count by hand."""

from datetime import datetime

from originset.data.studies.database import open_database
from originset.models.parameters import Parameters
from originset.queries.catalogue import named_query, run

VISITED = datetime(2026, 1, 2)  # noqa: DTZ001 - the schema's timestamps are UTC without a zone
BEFORE, AFTER = datetime(2026, 1, 1), datetime(2026, 1, 3)  # noqa: DTZ001
LEAVES = {
    "good": {"san_count": 2, "not_after": AFTER, "issuer_org": "CA", "chain": ["good"], "self_signed": False},
    "late": {"san_count": 1, "not_after": BEFORE, "issuer_org": "CA", "chain": ["late", "x"], "chain_problem": "gap"},
    "bare": {"san_count": 0, "subject_cn": "*.Old.test", "issuer_cn": "Old CA", "self_signed": True},
    "vague": {"subject_cn": "vague.test"},
}
NAMES = {"good": ["a.test", "*.a.test"], "late": ["b.test"]}
# Connection: certificate, host, address.
OPENED = [
    ("good", "a.test", 1),
    ("good", "www.a.test", 2),
    ("late", "b.test", 3),
    ("late", "c.test", 3),
    ("bare", "w.old.test", 4),
    ("vague", "vague.test", 5),
    ("good", "a.test", 9),
]
ANSWERS = {"a.test": [1, 2], "www.a.test": [2], "img.a.test": [7], "b.test": [8], "deep.www.a.test": [1]}


def at(last: int) -> str:
    return f"192.0.2.{last}"


ROWS = {
    "visits": [{"visit_id": "v", "status": "ok", "started_at": VISITED}],
    "requests": [
        {
            "visit_id": "v",
            "request_id": 0,
            "scheme": "https",
            "host": "a.test",
            "port": 443,
            "status": 200,
            "connection_id": 0,
            "server_ip": at(1),
        }
    ],
    "connections": [
        {
            "visit_id": "v",
            "connection_id": number,
            "certificate_id": leaf,
            "first_host": host,
            "tls": True,
            "used": True,
            "server_ip": at(last),
        }
        for number, (leaf, host, last) in enumerate(OPENED)
    ],
    "certificates": [{"certificate_id": leaf, **facts} for leaf, facts in LEAVES.items()],
    "certificate_names": [{"certificate_id": leaf, "name": name} for leaf, names in NAMES.items() for name in names],
    "dns_queries": [
        {"visit_id": "v", "lookup_id": number, "host": host, "rtype": "A", "answers": [at(last) for last in lasts]}
        for number, (host, lasts) in enumerate(ANSWERS.items())
    ],
}


def answer(build_study, name):
    with open_database(build_study(ROWS, Parameters())) as connection:
        return run(connection, named_query(name).sql).drop("vantage", "browser").rows()


def test_issuer_of_each_host(build_study) -> None:
    rows = answer(build_study, "issuers_host_summary")
    assert ("a.test", "CA", 1, 1, 2, 1) in rows
    assert ("w.old.test", "Old CA", 1, 1, 1, 1) in rows
    assert ("vague.test", None, 0, 1, 1, 1) in rows
    assert len(rows) == 6


def test_presence_of_names_and_what_else_can_be_wrong(build_study) -> None:
    """Seven connections; the names of the last leaf are not known, so six can be judged by them."""
    found = {row[0]: row[1:3] for row in answer(build_study, "certificates_check_summary")}
    assert found == {
        "no subject alternative name": (6, 1),
        "host not covered": (6, 2),
        "host matches the common name alone": (6, 1),
        "expired at the visit": (5, 2),
        "not yet valid at the visit": (0, 0),
        "self-signed": (4, 1),
        "no certificate transparency timestamp in it": (0, 0),
        "chain not in order as sent": (5, 2),
        "not readable in full": (7, 0),
    }


def test_names_resolve_to_the_addresses_used(build_study) -> None:
    """Of hosts that connections were opened for: a.test at 1 and www.a.test at 2 are as answered.

    a.test at 9 and b.test at 3 are not; of the other three nothing was asked. Others that certificates cover: the leaf
    of a.test was shown at 1, 2 and 9; of what it covers a.test (1 and 2), www.a.test (2) and img.a.test (7) were looked
    up, each connection's own left out. The leaf of b.test came at 3 for c.test too, and b.test is at 8.
    """
    assert answer(build_study, "names_resolve_summary") == [
        ("the host it was opened for", 7, 2, 2, 3, 50.0),
        # at 1: www no, img no; at 2: a.test yes, img no; at 9: www no, img no; at 3: b.test no
        ("another host that its certificate covers", 7, 1, 6, 0, 14.285714),
    ]
