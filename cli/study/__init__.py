"""``originset study``: what is done with a study besides filling and querying it."""

from __future__ import annotations

from originset.cli.common.command_tree import subgroup


@subgroup(
    {
        "status": "originset.cli.study.status",
        "schema": "originset.cli.study.schema",
        "report": "originset.cli.study.report",
        "figures": "originset.cli.study.figures",
        "compare": "originset.cli.study.compare",
        "artifact": "originset.cli.study.artifact",
        "model": "originset.cli.study.model",
        "enrich": "originset.cli.study.enrich",
        "merge": "originset.cli.study.merge",
        "reference": "originset.cli.study.reference",
    }
)
def command() -> None:
    """Report on, compare, publish, complete and merge studies.

    status says what is in a study, schema what its tables and columns mean. report, figures and artifact show and
    publish it; compare holds it, or a HAR, against another. model, enrich and merge change it. reference says which
    IP-to-AS table and other reference data it is analysed with.

    Example: originset --study S study report --out report.html
    """
