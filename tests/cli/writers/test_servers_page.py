"""The page has every server of the table, on one line each."""

from originset.cli.writers.capabilities import CAPABILITIES, HTTP3_LIBRARIES
from originset.cli.writers.servers_page import page


def test_every_server_has_its_line() -> None:
    lines = page().splitlines()
    for name, one in CAPABILITIES.items():
        (line,) = [line for line in lines if line.startswith(f"| {name} |")]
        assert line.count("|") == 5
        assert one.source in line
        assert one.since is None or one.since in line


def test_every_library_of_http3_has_its_line_with_a_source() -> None:
    lines = page().splitlines()
    for name, (sends, source) in HTTP3_LIBRARIES.items():
        assert f"| {name} | {sends} | {source} |" in lines


def test_what_was_seen_over_http3_is_told() -> None:
    (line,) = [line for line in page().splitlines() if "envoy-http3-two-chains.md" in line]
    assert line.split(" | ")[2:] == ["404", "404", "404", "404 |"]
    (line,) = [line for line in page().splitlines() if "nginx-one-certificate.md" in line]
    assert line.endswith(" |  |")
