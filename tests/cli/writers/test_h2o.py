"""The snippet is comments and one property, whose value is YAML's subset that JSON is."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from originset.cli.writers import h2o
from originset.cli.writers.origin_set import choose
from originset.crawler.testbed.servers.certificate_authority import Authority


def test_hostile_plans_give_one_property_with_their_origins(hostile_plans) -> None:
    for plan, origins in hostile_plans:
        *comments, last = h2o.render(choose(plan, None)[0]).splitlines()
        assert all(line.startswith("#") and line.isascii() and line.isprintable() for line in comments)
        key, _, value = last.partition(": ")
        assert key == "http2-origin-frame"
        assert json.loads(value) == origins


def test_h2o_itself_takes_it_or_refuses_it_as_the_file_says(hostile_plans, tmp_path: Path) -> None:
    """2.3.0-beta2 and later take every file; 2.2 names the property that it does not know."""
    program = shutil.which("h2o")
    if program is None:
        pytest.skip("h2o is not installed")
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    knows_it = not said.startswith(("h2o version 2.0", "h2o version 2.1", "h2o version 2.2"))
    issued = Authority(tmp_path / "authority").issue(["h0-0.good.test"])
    for plan, _ in hostile_plans[:20]:
        snippet = h2o.render(choose(plan, None)[0]).replace("\n", "\n    ").rstrip(" ")
        config = tmp_path / "h2o.conf"
        config.write_text(
            f"listen:\n  port: 0\n  ssl:\n    certificate-file: {issued.chain}\n    key-file: {issued.key}\n"
            f"    {snippet}hosts:\n  default:\n    paths:\n      /:\n        file.dir: {tmp_path}\n"
        )
        done = subprocess.run([program, "-t", "-c", config], capture_output=True, text=True, check=False)
        if knows_it:
            assert done.returncode == 0, done.stderr
        else:
            assert "unknown property: http2-origin-frame" in done.stderr
            assert done.returncode != 0
        without = "\n".join(line for line in config.read_text().splitlines() if "http2-origin-frame: [" not in line)
        config.write_text(without)
        assert subprocess.run([program, "-t", "-c", config], capture_output=True, check=False).returncode == 0
