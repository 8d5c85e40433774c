"""``originset experiment log``: a log of one's own as numbers and figures."""

import json


def test_a_log_gives_numbers_and_figures(run, tmp_path) -> None:
    log, out = tmp_path / "log.csv", tmp_path / "out"
    rows = ["time,group,connection,host"]
    for day in range(1, 31):
        for n in range(20):
            rows.append(f"2026-01-{day:02}T{n:02}:00:00Z,control,{day}-{n},cdn.example")
            # Half of the experiment's are opened for the page while the change lasts, the 11th to the 20th.
            host = "www.example" if 11 <= day <= 20 and n % 2 else "cdn.example"
            rows.append(f"2026-01-{day:02}T{n:02}:00:00Z,experiment,{day}-{n},{host}")
    log.write_text("\n".join(rows))
    window = ("--window", "2026-01-11", "2026-01-20")
    done = run("experiment", "log", log, *window, "--host", "cdn.example", "--out", out, "--format", "json")
    assert done.returncode == 0, done.stderr
    found = {row["number"]: row["value"] for row in json.loads(done.stdout)}
    assert (found["before, control"], found["during, control"], found["during, experiment"]) == (20, 20, 10)
    assert found["during against before"] == found["during against after"] == -50
    assert {path.name for path in out.iterdir()} == {
        "numbers.csv",
        *(f"figure-8.{kind}" for kind in ("csv", "pdf", "png", "svg")),
    }
    # At every second hour the control opened none.
    done = run("experiment", "log", log, *window, "--host", "cdn.example", "--every", "10m", "--out", out)
    assert done.returncode == 2
    assert "--every" in done.stderr


def test_groups_of_a_rollout(run, tmp_path) -> None:
    """By the certificate that covers the page's host, the control's too although it is the last ring; others go."""
    control = {"certificate": "b", "group": "control", "names": ["0.x.test"], "later": ["cdn.example"]}
    changes = [{"certificate": "a", "group": "experiment", "names": ["cdn.example"], "later": []}, control]
    released = [{**control, "group": "experiment", "names": ["cdn.example"], "later": []}]
    rings = [
        {"ring": n, "connections_saved": 1, "certificates": of_ring} for n, of_ring in enumerate((changes, released), 1)
    ]
    (tmp_path / "rings.json").write_text(json.dumps({"seed": "1", "rings": rings}))
    (tmp_path / "certificates.csv").write_text("certificate,names\na,*.a.test\nb,b.test\n")
    rows = ["time,site,connection,host"]
    for day in range(1, 4):
        sites = [("www.a.test", 2), ("B.test.", 4), ("elsewhere.test", 8)]
        rows += [
            f"2026-01-{day:02}T12:00:00Z,{s},{s}-{day}-{n},cdn.example" for s, count in sites for n in range(count)
        ]
    log = tmp_path / "log.csv"
    log.write_text("\n".join(rows))
    call = (
        "experiment",
        "log",
        log,
        "--window",
        "2026-01-02",
        "2026-01-02",
        "--every",
        "1d",
        "--out",
        tmp_path / "out",
    )
    files = ("--rollout", tmp_path / "rings.json", "--inventory", tmp_path / "certificates.csv")
    done = run(*call, *files, "--format", "json")
    assert done.returncode == 0, done.stderr
    found = {row["number"]: row["value"] for row in json.loads(done.stdout)}
    assert (found["during, experiment"], found["during, control"]) == (2, 4)
    assert "no column is called group" in run(*call).stderr
    assert "belong together" in run(*call, *files[:2]).stderr
    log.write_text("\n".join([rows[0], *rows[-8:]]))
    assert "no lines of sites of the rollout" in run(*call, *files).stderr


def test_what_is_missing_is_said(run, tmp_path) -> None:
    log = tmp_path / "log"
    log.write_text("{}\n")
    for arguments, said in (
        ((), "Missing argument 'LOG'"),
        ((log,), "Missing option '--window'"),
        ((log, "--window", "soon", "later"), "not two times"),
        ((log, "--window", "2026-01-02", "2026-01-01"), "ends before it begins"),
        ((log, "--window", "2026-01-01", "2026-01-02", "--every", "fast"), "no length of time"),
        ((log, "--window", "2026-01-01", "2026-01-02"), "line 1"),
    ):
        done = run("experiment", "log", *arguments, "--out", tmp_path / "out")
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
