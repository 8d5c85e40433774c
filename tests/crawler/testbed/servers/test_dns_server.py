"""The testbed's DNS server, asked with real packets from an address of our own."""

import socket

import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import pytest

from originset.crawler.testbed.testbed import Testbed

pytestmark = pytest.mark.testbed
SOURCE = "198.18.0.1"


def ask(testbed: Testbed, name: str, rtype: str, **how: object) -> dns.message.Message:
    query = dns.message.make_query(name, rtype, **how)
    return dns.query.udp(query, testbed.scenario.dns_address, timeout=5, source=SOURCE)


def values(answer: dns.message.Message, rtype: str) -> list[str]:
    wanted = dns.rdatatype.from_text(rtype)
    return [record.to_text() for rrset in answer.answer if rrset.rdtype == wanted for record in rrset]


def test_addresses_come_in_the_scenarios_order(testbed: Testbed) -> None:
    for _ in range(8):  # dnspython would shuffle them
        assert values(ask(testbed, "www.bank.test", "A"), "A") == ["13.32.1.11", "13.32.1.10"]
    assert values(ask(testbed, "fonts.typeface.test", "AAAA"), "AAAA") == ["2a00:1450:4001:80b::2004"]


def test_an_alias_is_answered_with_its_target(testbed: Testbed) -> None:
    answer = ask(testbed, "bank.test", "A")
    assert values(answer, "CNAME") == ["lb-7.elastic.test."]
    assert values(answer, "A") == ["13.32.1.10", "13.32.1.11"]
    assert {rrset.name.to_text() for rrset in answer.answer} == {"bank.test.", "lb-7.elastic.test."}


@pytest.mark.parametrize(
    ("name", "rtype", "rcode"),
    [
        ("www.daily.test", "HTTPS", "NOERROR"),
        ("img.daily.test", "AAAA", "NOERROR"),
        ("gone.test", "A", "NXDOMAIN"),
        ("beacon.gone.test", "A", "NXDOMAIN"),
        ("update.googleapis.com", "A", "NXDOMAIN"),
        ("test", "A", "NXDOMAIN"),
        (".", "NS", "NXDOMAIN"),
    ],
)
def test_what_there_is_not(testbed: Testbed, name: str, rtype: str, rcode: str) -> None:
    answer = ask(testbed, name, rtype)
    assert dns.rcode.to_text(answer.rcode()) == rcode
    assert answer.answer == []
    assert [rrset.rdtype for rrset in answer.authority] == [dns.rdatatype.SOA]


def test_edns_case_and_tcp(testbed: Testbed) -> None:
    answer = ask(testbed, "WWW.Daily.TEST", "A", use_edns=0, payload=1232)
    assert answer.edns == 0
    assert answer.question[0].name.to_text() == "WWW.Daily.TEST."
    assert values(answer, "A") == ["104.16.1.10"]
    query = dns.message.make_query("www.daily.test", "A")
    answer = dns.query.tcp(query, testbed.scenario.dns_address, timeout=5)
    assert values(answer, "A") == ["104.16.1.10"]
    assert testbed.dns_queries()[-1].transport == "tcp"


def test_every_query_is_in_the_log(testbed: Testbed) -> None:
    before = len(testbed.dns_queries(background=True))
    ask(testbed, "shop.test", "A")
    ask(testbed, "Gone.test", "AAAA")
    ask(testbed, "mtalk.example.com", "A")
    everything = testbed.dns_queries(background=True)[before:]
    assert [(one.name, one.rtype, one.rcode, one.client) for one in everything] == [
        ("shop.test", "A", "NOERROR", SOURCE),
        ("gone.test", "AAAA", "NXDOMAIN", SOURCE),
        ("mtalk.example.com", "A", "NXDOMAIN", SOURCE),
    ]
    assert [one.name for one in testbed.dns_queries()[-2:]] == ["shop.test", "gone.test"]


def test_noise_is_not_answered_and_does_no_harm(testbed: Testbed) -> None:
    reply = dns.message.make_response(dns.message.make_query("shop.test", "A")).to_wire()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        for noise in (b"", b"\x00", b"\xff" * 40, reply, dns.message.Message().to_wire()):
            client.sendto(noise, (testbed.scenario.dns_address, 53))
    with socket.create_connection((testbed.scenario.dns_address, 53)) as client:
        client.sendall(b"\x00\x03abc")
        assert client.recv(10) == b""
    assert values(ask(testbed, "shop.test", "A"), "A") == ["151.101.1.10"]


def test_the_systems_resolver_uses_it(testbed: Testbed) -> None:
    found = {entry[4][0] for entry in socket.getaddrinfo("www.daily.test", 443, type=socket.SOCK_STREAM)}
    assert found == {"104.16.1.10", "2606:4700::6810:10a"}
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("gone.test", 443)
