"""What a TLS 1.3 server's messages say, from handshakes that two real ends made with one another."""

from __future__ import annotations

import datetime as dt
import zlib
from dataclasses import dataclass, field

import pytest
from aioquic import tls
from aioquic.buffer import Buffer
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given
from hypothesis import strategies as st

from originset.data.netlog.server_hello import certificates, is_resumed


def issue(name: str, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )


KEY = ec.generate_private_key(ec.SECP256R1())
CHAIN = [issue(name, KEY) for name in ("site.test", "middle.test", "root.test")]
DER = [certificate.public_bytes(Encoding.DER) for certificate in CHAIN]


@dataclass
class Ends:
    """Two ends in memory, and the tickets that pass between them."""

    tickets: dict[bytes, tls.SessionTicket] = field(default_factory=dict)
    kept: list[tls.SessionTicket] = field(default_factory=list)

    def shake_hands(self) -> tuple[bytes, bytes]:
        """What the server sent: (unencrypted, encrypted in the handshake)."""
        client = tls.Context(is_client=True, verify_mode=0)
        client.server_name = "site.test"
        client.handshake_extensions = []
        client.new_session_ticket_cb = self.kept.append
        if self.kept:
            client.session_ticket = self.kept[-1]
        server = tls.Context(is_client=False)
        server.certificate, server.certificate_chain, server.certificate_private_key = CHAIN[0], CHAIN[1:], KEY
        server.get_session_ticket_cb = self.tickets.get
        server.new_session_ticket_cb = lambda ticket: self.tickets.update({ticket.ticket: ticket})
        first = buffers()
        client.handle_message(b"", first)
        answer = buffers()
        server.handle_message(first[tls.Epoch.INITIAL].data, answer)
        last = buffers()
        client.handle_message(answer[tls.Epoch.INITIAL].data, last)
        client.handle_message(answer[tls.Epoch.HANDSHAKE].data, last)
        after = buffers()
        server.handle_message(last[tls.Epoch.HANDSHAKE].data, after)
        client.handle_message(answer[tls.Epoch.ONE_RTT].data + after[tls.Epoch.ONE_RTT].data, buffers())
        return answer[tls.Epoch.INITIAL].data, answer[tls.Epoch.HANDSHAKE].data


def buffers() -> dict[tls.Epoch, Buffer]:
    return {epoch: Buffer(capacity=8192) for epoch in (tls.Epoch.INITIAL, tls.Epoch.HANDSHAKE, tls.Epoch.ONE_RTT)}


FULL = Ends().shake_hands()


def test_a_handshake_in_full() -> None:
    hello, rest = FULL
    assert is_resumed(hello) is False
    assert certificates(rest) == DER


def test_a_resumed_one_sends_no_certificates() -> None:
    ends = Ends()
    assert is_resumed(ends.shake_hands()[0]) is False
    assert ends.kept, "the server gave a ticket"
    hello, rest = ends.shake_hands()
    assert is_resumed(hello) is True
    assert certificates(rest) is None


def test_a_request_to_say_hello_again_is_no_hello() -> None:
    hello, _ = FULL
    retry = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
    asks = hello[:6] + retry + hello[38:]
    assert is_resumed(asks) is None
    assert is_resumed(asks + hello) is False


@pytest.mark.parametrize(("algorithm", "expected"), [(1, DER), (2, None)])
def test_packed_certificates(algorithm: int, expected: list[bytes] | None) -> None:
    """RFC 8879 section 4: 1 is zlib, 2 is brotli."""
    _, rest = FULL
    place = 4 + int.from_bytes(rest[1:4])  # after EncryptedExtensions
    assert rest[place] == 11
    body = rest[place + 4 : place + 4 + int.from_bytes(rest[place + 1 : place + 4])]
    packed = zlib.compress(body)
    message = algorithm.to_bytes(2) + len(body).to_bytes(3) + len(packed).to_bytes(3) + packed
    assert certificates(b"\x19" + len(message).to_bytes(3) + message) == expected


def test_parts_without_content_are_not_copied_over_and_over() -> None:
    """A list of a million empty certificates: in time that grows as its square this test would not end."""
    body = bytes(1) + (5_000_000).to_bytes(3) + bytes(5_000_000)
    found = certificates(b"\x0b" + len(body).to_bytes(3) + body)
    assert found is not None
    assert len(found) == 1_000_000


@pytest.mark.parametrize(("count", "expected"), [(20_000, 20_000), (21_000, None)])
def test_a_list_that_unpacks_to_more_than_chromium_takes_is_not_read(count: int, expected: int | None) -> None:
    body = bytes(1) + (5 * count).to_bytes(3) + bytes(5 * count)
    packed = zlib.compress(body)
    message = (1).to_bytes(2) + len(body).to_bytes(3) + len(packed).to_bytes(3) + packed
    found = certificates(b"\x19" + len(message).to_bytes(3) + message)
    assert found == (None if expected is None else [b""] * expected)


@given(st.data())
def test_what_is_cut_off_is_not_known(data: st.DataObject) -> None:
    hello, rest = FULL
    assert is_resumed(hello[: data.draw(st.integers(0, len(hello) - 1))]) is None
    end = 4 + int.from_bytes(rest[1:4])
    end += 4 + int.from_bytes(rest[end + 1 : end + 4])
    assert certificates(rest[: data.draw(st.integers(0, end - 1))]) is None


@given(st.binary(max_size=300))
def test_nonsense_is_not_known(stream: bytes) -> None:
    assert is_resumed(stream) in {None, True, False}
    assert certificates(b"\x0b" + stream) is None or stream
    assert certificates(b"\x19" + stream) is None or stream
