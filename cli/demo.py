"""``originset demo``: the whole way once, on a small internet of its own, checked against that internet's own logs."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click
import polars as pl

from originset.cli.common.command_namespace import enter_namespace
from originset.cli.common.command_tree import Command
from originset.cli.common.files import make_folder, write_text
from originset.cli.common.output import note, progress, write_rows
from originset.cli.common.study_report import report_contents
from originset.cli.modelling.analysis import analyze
from originset.cli.writers import h2o, node
from originset.cli.writers.origin_set import choose
from originset.crawler.crawl.pending_visits import CrawlPlan
from originset.crawler.crawl.site_list import SiteList, read_site_list
from originset.crawler.crawl_run import crawl
from originset.crawler.readiness import require
from originset.crawler.settings import CrawlSettings, VisitSettings
from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.testbed import Testbed
from originset.data.errors import UsageError
from originset.data.reference.snapshot import built_in_reference
from originset.data.studies.database import open_database
from originset.data.studies.study import Study
from originset.models.plans.site_plan import site_plan
from originset.queries.figures.all_figures import draw
from originset.queries.ladder import ladder, rests_on
from originset.queries.report.report_page import render

# Only a folder with the marker of a demo is ever removed and made again.
_MARK = ".originset-demo"

_CAPTURED = """
    SELECT (SELECT count(*) FROM connections WHERE tls),
           (SELECT sum(measured_tls) FROM page_counts),
           (SELECT sum(attempts) FROM dns_queries WHERE source = 'browser')
"""

# The sites whose ORIGIN frame would have more than the server's own name.
_WITH_ORIGINS = """
    SELECT site FROM origin_sets WHERE covered_by_certificate AND NOT coalesce(misdirected, false)
    GROUP BY site HAVING count(*) > 1 ORDER BY site
"""


@click.command(cls=Command)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Write everything to this folder. An earlier demo in it is replaced.",
)
def command(out: Path) -> None:
    """Crawl a small internet on this machine, and show savings.

    Brings up the testbed in a network namespace, crawls it with headless Chromium, analyses the crawl, compares the
    counts with the servers' logs, and writes figures, a report and server configurations. Contacts nothing else.

    Exit codes: 0 all counts are equal, 1 one differs.

    Example: originset demo --out demo
    """
    require("demo")
    enter_namespace()
    out = out.absolute()  # paths that it prints hold wherever they are pasted
    _make_room(out)
    study = Study(out / "study")
    with Testbed(scenario_file.built_in(), out / "testbed") as testbed:
        # With their scheme and without retries, so that every attempt of the browser is in a capture.
        write_text(out / "sites.txt", "".join(f"https://{site}/\n" for site in testbed.sites))
        _crawl(study, read_site_list(str(out / "sites.txt")), testbed)
        logged = {
            "TLS handshakes": len(testbed.handshakes()),
            "TLS connections with a request": len({r.connection for r in testbed.requests() if r.scheme == "https"}),
            "DNS queries": len(testbed.dns_queries()),
        }
    analyze(study, built_in_reference())  # a demo is the same everywhere
    _print_results(study, out, logged)


def _make_room(out: Path) -> None:
    if out.exists() and any(out.iterdir()):
        if not (out / _MARK).exists():
            raise UsageError(f"{out} is not empty and not a demo's folder", "name another with --out")
        shutil.rmtree(out)
    make_folder(out)
    (out / _MARK).touch()


def _crawl(study: Study, sites: SiteList, testbed: Testbed) -> None:
    visit = VisitSettings(environment=testbed.environment)
    # By its address, so that no look whether there is a network is among the queries that are compared.
    answering = next(host.addresses[0] for host in testbed.scenario.hosts.values() if not host.refuses)
    settings = CrawlSettings(visit=visit, resolver=testbed.resolver, jobs=2, retries=0, known_good=((answering, 443),))
    with progress() as display:
        task = display.add_task("crawl", total=None)

        def planned(plan: CrawlPlan) -> None:
            display.update(task, total=len(plan.pending))

        crawl(study, sites, settings, lambda _visit, _left: display.advance(task), planned)


def _print_results(study: Study, out: Path, logged: dict[str, int]) -> None:
    (out / "figures").mkdir()
    with open_database(study) as connection:
        pages = connection.execute("SELECT status, count(*) FROM visits GROUP BY ALL ORDER BY 2 DESC").fetchall()
        captured = dict(zip(logged, connection.execute(_CAPTURED).fetchall()[0], strict=True))
        rows = ladder(connection)
        sites = [site for (site,) in connection.execute(_WITH_ORIGINS).fetchall()]
        figures = draw(connection, out / "figures")
    click.echo("pages: " + ", ".join(f"{count} {status}" for status, count in pages) + "\n")
    checks = [(what, servers, captured[what], servers == captured[what]) for what, servers in logged.items()]
    columns = ["checked against the testbed's logs", "servers saw", "captures say", "equal"]
    write_rows(pl.DataFrame(checks, schema=columns, orient="row"), "table")
    click.echo("")
    rungs = rows.select("counts", "rung", "total", "median", "saved", "saved_pct", "saved_pct_low", "saved_pct_high")
    write_rows(rungs, "table")
    for sentence in rests_on(rows):
        click.echo(sentence)
    for reason in figures.remarks:
        note(reason)
    click.echo("\nfigures:  " + " ".join(str(path) for path in figures.paths if path.suffix == ".png"))
    write_text(out / "report.html", render(report_contents(study, "the testbed", pages=100)))
    click.echo(f"report:   {out / 'report.html'}")
    click.echo(f"database: {study.database_path}")
    click.echo(
        "configs:  " + " ".join(str(path) for site in sites for path in _configure(study, site, out / "configs"))
    )
    click.echo(f"\nnext: {_program()} --study {study.root} query")
    if not all(equal for *_, equal in checks):
        note("the captures do not say what the servers saw")
        sys.exit(1)


def _program() -> str:
    """The command to type for this program: a path if its virtual environment is not active."""
    script = Path(sys.executable).with_name("originset")
    return str(script) if shutil.which("originset") is None and script.exists() else "originset"


def _configure(study: Study, site: str, folder: Path) -> list[Path]:
    folder.mkdir(exist_ok=True)
    plan, _ = choose(site_plan(study, site), None)
    paths = []
    for name, write in ((f"{site}.node.mjs", node.render), (f"{site}.h2o.yaml", h2o.render)):
        write_text(folder / name, write(plan))
        paths.append(folder / name)
    return paths
