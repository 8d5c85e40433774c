"""What is printed of live lookups."""

import pytest

from originset.cli.common.live import remark

COUNTS = {"names": 7, "handshakes": 7, "certificates": 0, "not_contacted": 0, "unfinished": 0}


def test_servers_without_a_trusted_certificate_may_have_a_private_ca(capsys: pytest.CaptureFixture[str]) -> None:
    remark(COUNTS)
    assert capsys.readouterr().err.splitlines() == [
        "queried DNS for 7 names; 0 of 7 TLS handshakes gave a trusted certificate",
        "if a private CA issues these servers' certificates, name its file with --ca-file",
    ]
    remark(COUNTS | {"certificates": 1})
    assert "--ca-file" not in capsys.readouterr().err
