"""``originset lab scenario``: a page of a study as a scenario of the testbed."""

from __future__ import annotations

from pathlib import Path

import click

from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.files import out_option, write_text
from originset.cli.common.output import note
from originset.crawler.testbed import scenario_file
from originset.data.studies.study import Study
from originset.models.experiments.study_scenario import study_scenario


@click.command(cls=Command)
@click.argument("site", metavar="HOST")
@out_option
@study_option
@click.pass_obj
def command(study: Study, *, site: str, out: Path | None) -> None:
    """Write a page of the study as a scenario of the testbed.

    HOST is the site as the study has it; its latest visit is taken. The scenario has the same hosts, IP addresses,
    certificate names, response sizes and waits, and no contents. lab run FILE.toml -- COMMAND brings it up.

    Example: originset --study S lab scenario www.example.com --out example.toml
    """
    scenario = study_scenario(study, site)
    scenario_file.parse(scenario.text, f"the scenario of {site}")
    for sentence in scenario.left_out:
        note(f"not in it: {sentence}")
    if out is None:
        click.echo(scenario.text, nl=False)
    else:
        write_text(out, scenario.text)
