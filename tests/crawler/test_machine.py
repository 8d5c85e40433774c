"""What a crawl needs of its machine."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from originset.crawler.machine import own_addresses, private_memory, shortage


def test_nothing_is_short_of_nothing(tmp_path: Path) -> None:
    assert shortage(tmp_path, 1, 1) is None


@pytest.mark.testbed
def test_a_small_disk(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "small", str(tmp_path)], check=True)
    try:
        assert shortage(tmp_path, 4 << 20, 1) is None
        (tmp_path / "file").write_bytes(bytes(6 << 20))
        assert shortage(tmp_path, 4 << 20, 1) == "only 2 MB left on the study's disk, of 4 MB that a crawl keeps free"
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_little_memory(tmp_path: Path) -> None:
    said = shortage(tmp_path, 1, 1 << 60)
    assert said is not None
    assert said.endswith("of memory left, of 1099511627776 MB that a crawl keeps free")


def test_memory_of_a_family() -> None:
    code = "import subprocess, sys; a = b'x' * (30 << 20); subprocess.run(['cat'])"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        parent = psutil.Process(process.pid)
        while not parent.children():
            assert process.poll() is None
        both = private_memory([parent])
        assert both > 30 << 20
        assert both > private_memory(parent.children()) > 0
        process.communicate()
    assert private_memory([parent]) == 0, "what is gone has none"


def test_own_addresses_are_those_of_other_interfaces_than_loopback() -> None:
    own = own_addresses()
    assert not own & {"127.0.0.1", "::1"}
    listed = {a.address.partition("%")[0] for all_of in psutil.net_if_addrs().values() for a in all_of}
    assert own <= listed
