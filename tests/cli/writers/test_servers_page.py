"""The page has every server of the table, on one line each."""

from originset.cli.writers.capabilities import CAPABILITIES
from originset.cli.writers.servers_page import page


def test_every_server_has_its_line() -> None:
    lines = page().splitlines()
    for name, one in CAPABILITIES.items():
        (line,) = [line for line in lines if line.startswith(f"| {name} |")]
        assert line.count("|") == 5
        assert one.source in line
        assert one.since is None or one.since in line
