"""``originset import`` as its user meets it."""

import json
import subprocess
import sys
from pathlib import Path

SMALL = Path(__file__).parents[1] / "fixtures" / "hars" / "small.har"


def originset(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("originset")), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_import_says_what_it_did_on_stderr_alone(tmp_path):
    study = tmp_path / "study"
    first = originset("--study", study, "import", SMALL)
    assert (first.returncode, first.stdout) == (0, "")
    assert "1 files: 1 imported, 0 were in the study already, 0 refused" in first.stderr
    assert "2 visits, 7 requests; 1 chrome-har-capturer" in first.stderr
    assert "small.har (chrome-har-capturer): " in first.stderr
    assert "entries without times; some answers came from the cache" in first.stderr
    again = originset("--study", study, "import", SMALL)
    assert again.returncode == 0
    assert "0 imported, 1 were in the study already" in again.stderr
    runs = json.loads((study / "study.json").read_text())["runs"]
    assert [run["counts"]["requests"] for run in runs] == [7, 0]


def test_a_refused_file_is_named_and_ends_with_one(tmp_path):
    (tmp_path / "bad\x1b[2J.har").write_text("callback({})")
    done = originset("--study", tmp_path / "study", "import", SMALL, tmp_path / "bad\x1b[2J.har")
    assert done.returncode == 1
    assert "not JSON at byte 0" in done.stderr
    assert "1 imported" in done.stderr
    assert "\x1b" not in done.stderr


def test_wrong_usage_ends_with_two(tmp_path):
    missing = originset("--study", tmp_path / "study", "import", tmp_path / "nowhere.har")
    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)
    assert "does not exist" in missing.stderr
    assert originset("--study", tmp_path / "study", "import").returncode == 2
    assert "Example:" in originset("import", "--help").stdout
