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
    assert "connection ids" not in first.stderr
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


def test_nothing_that_is_a_har_ends_with_one(tmp_path):
    (tmp_path / "hars").mkdir()
    (tmp_path / "hars" / "settings.json").write_text("{}")
    done = originset("--study", tmp_path / "study", "import", tmp_path / "hars")
    assert done.returncode == 1
    assert "none of the files is a HAR" in done.stderr


def test_a_second_opinion_and_a_copy(tmp_path):
    study = tmp_path / "study"
    shop = SMALL.parent / "chrome-devtools" / "shop-cold-sanitised.har"
    done = originset("--study", study, "import", "--verify", "--keep-files", "--jobs", "2", shop)
    assert done.returncode == 0, done.stderr
    assert "haralyzer read 1 files, 1 pages" in done.stderr
    assert "0 differences from what was imported" in done.stderr
    assert len(list((study / "files").glob("*/*.har.zst"))) == 1
    # An entry of this one names a page that is not in it: haralyzer gives it to none, import to the page of its time.
    done = originset("--study", study, "import", "--verify", SMALL)
    assert done.returncode == 1
    assert "differs: small.har: page 2: 2 entries, haralyzer 1" in done.stderr
    assert "haralyzer fails: server_ip: KeyError: 'serverIPAddress' (3 times in 1 files" in done.stderr


def test_a_cut_file_is_imported_and_ends_with_one(tmp_path):
    cut = tmp_path / "cut.har"
    cut.write_bytes(SMALL.read_bytes()[:-200])
    done = originset("--study", tmp_path / "study", "import", cut)
    assert done.returncode == 1
    assert "cut off: cut.har: cut off: 6 whole entries are kept, the rest is lost at byte " in done.stderr
    assert "cut.har (chrome-har-capturer): " in done.stderr


def test_limits_of_many_files_are_counted(tmp_path):
    for number in range(25):
        (tmp_path / f"{number}.har").write_text('{"log": {"entries": [{"request": {"url": "https://a.test/"}}]}}')
    done = originset("--study", tmp_path / "study", "import", tmp_path / "*.har")
    assert done.returncode == 0
    assert "25 of 25 files: no connection ids: connections are not counted" in done.stderr


def test_stdin(tmp_path):
    command = [str(Path(sys.executable).with_name("originset")), "--study", str(tmp_path / "study"), "import", "-"]
    done = subprocess.run(command, input=SMALL.read_bytes(), capture_output=True, check=False)
    assert done.returncode == 0
    assert b"2 visits, 7 requests" in done.stderr


def test_wrong_usage_ends_with_two(tmp_path):
    missing = originset("--study", tmp_path / "study", "import", tmp_path / "nowhere.har")
    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)
    assert "does not exist" in missing.stderr
    assert originset("--study", tmp_path / "study", "import").returncode == 2
    assert "Example:" in originset("import", "--help").stdout
