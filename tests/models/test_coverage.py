"""Coverage by joins against a plain reading of RFC 9525."""

import ipaddress
import json

import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from originset.models.coverage import covered, covering_certificates


def is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def matches(name: str, host: str) -> bool:
    """RFC 9525 section 6.3, one name and one host at a time."""
    host = host.removesuffix(".")
    if "*" in host:
        return False
    if name == host:
        return True
    label, dot, rest = host.partition(".")
    return not is_ip(host) and label != "" and dot == "." and name == f"*.{rest}"


def tables_of(make_tables, certificates):
    return make_tables(
        {
            "certificates": [
                {"certificate_id": str(i), "san_count": len(names)} for i, names in enumerate(certificates)
            ],
            "certificate_names": [
                {"certificate_id": str(i), "name": name, "wildcard": name.startswith("*.")}
                for i, names in enumerate(certificates)
                for name in names
            ],
        }
    )


def ask(tables, pairs):
    frame = pl.DataFrame(pairs, schema={"certificate_id": pl.String, "host": pl.String}, orient="row").lazy()
    rows = covered(tables, frame).collect()
    answers = {(row[0], row[1]): row[2] for row in rows.iter_rows()}
    assert len(answers) == rows.height
    return answers


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
    tables = tables_of(make_tables, [names])
    yes = ["example.com", "www.example.com", "www.example.com.", "127.0.0.2", "2001:db8::1", "xn--a.example.com"]
    no = [
        "a.b.example.com", "foo.part.test", "127.0.0.1", "example.org", "*.example.com", ".example.com", "com",
        "a.b.deep.test", "f*.part.test", "notexample.com",
    ]  # fmt: skip
    answers = ask(tables, [("0", host) for host in (*yes, *no)])
    assert {host for (_, host), value in answers.items() if value} == set(yes)
    assert {host for (_, host), value in answers.items() if not value} == set(no)


def test_unknown_names_are_not_an_answer(make_tables) -> None:
    tables = make_tables({"certificates": [{"certificate_id": "without"}, {"certificate_id": "bare", "san_count": 0}]})
    answers = ask(tables, [("without", "a.test"), ("bare", "a.test"), ("never-seen", "a.test"), (None, "a.test")])
    assert answers == {
        ("without", "a.test"): None,
        ("bare", "a.test"): False,
        ("never-seen", "a.test"): None,
        (None, "a.test"): None,
    }


label = st.sampled_from(["a", "b", "*", "a*", "xn--b", "1", ""])
text = st.lists(label, min_size=1, max_size=4).map(".".join)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(certificates=st.lists(st.lists(text, max_size=5, unique=True), max_size=4), hosts=st.lists(text, max_size=6))
def test_equal_to_one_at_a_time(make_tables, certificates, hosts) -> None:
    tables = tables_of(make_tables, certificates)
    # A name of digits and dots alone that is no address cannot come up: no such top-level domain exists.
    hosts = [host for host in hosts if is_ip(host) or not set(host) <= set("0123456789.")]
    answers = ask(tables, [(str(i), host) for i in range(len(certificates)) for host in hosts])
    for (certificate, host), value in answers.items():
        assert value == any(matches(name, host) for name in certificates[int(certificate)]), (certificate, host)


def test_real_certificates(make_tables, shared) -> None:
    """295 real leaves against every host that was seen with any of them."""
    leaves = [json.loads(line) for line in (shared / "data/certificates/san_lists.jsonl").read_text().splitlines()]
    certificates = [sorted({name.lower() for name in leaf["sanList"]}) for leaf in leaves]
    hosts = sorted({host for leaf in leaves for host in leaf["seen_hosts"]})
    tables = tables_of(make_tables, certificates)
    answers = ask(tables, [(str(i), host) for i in range(len(leaves)) for host in hosts])
    for (certificate, host), value in answers.items():
        assert value == any(matches(name, host) for name in certificates[int(certificate)]), (certificate, host)
    seen = [answers[str(i), host] for i, leaf in enumerate(leaves) for host in leaf["seen_hosts"]]
    assert sum(seen) / len(seen) > 0.9  # a browser had accepted nearly all of them for these hosts
    found = covering_certificates(tables, pl.LazyFrame({"host": hosts})).collect()
    assert found.height == sum(value for value in answers.values())
