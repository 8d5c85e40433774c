"""docs/models.md, made from the models: the description, inputs and source of each."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator

from originset.data.schema.study_tables import TABLES
from originset.models.model_types import FunctionModel, Model, SqlModel, written_by
from originset.models.runner.definitions import PAGE_INPUTS, STUDY_INPUTS, models, stages

_HEAD = """\
# Models

This page is made from the models: `make docs` writes it.

A model is one SQL file or one function. A model *by page* reads one batch of whole visits, which fits into memory;
batches run in parallel. A model *over the study* reads what all batches wrote, and DuckDB spills to disk what does not
fit into memory. Stages pass rows on as Parquet files; within a stage rows stay in memory. `models/runner/runner.py`
runs the stages, and `models/runner/definitions.py` finds out which model reads which table. Parameters are
variables of the connection (`getvariable`); macros are in [models/macros.sql](../models/macros.sql).

Tables of the study that users query are in **bold**; all their columns are in [schema.md](schema.md).
"""


def page() -> str:
    """The page as Markdown."""
    return "\n".join([_HEAD, "```mermaid", *_drawing(), "```", *_stages()]) + "\n"


def _drawing() -> Iterator[str]:
    yield "flowchart LR"
    for name in (*PAGE_INPUTS, *STUDY_INPUTS):
        yield f"  {name}[({name})]"
    for model in models().values():
        for table in written_by(model):
            yield f"  {table}[[{table}]]" if table in TABLES else f"  {table}"
        if isinstance(model, FunctionModel) and set(model.writes) != {model.name}:
            yield f"  {model.name}{{{{{model.name}}}}}"
    for model in models().values():
        into = list(written_by(model)) if model.name in written_by(model) else [model.name]
        yield f"  {' & '.join(sorted(model.reads))} --> {' & '.join(into)}"
        if model.name not in written_by(model):
            yield f"  {model.name} --> {' & '.join(written_by(model))}"


def _stages() -> Iterator[str]:
    for stage in sorted(set(stages().values())):
        own = [model for model in models().values() if stages()[model.name] == stage]
        yield from ("", f"## Stage {stage}: {own[0].scope.value}")
        for model in own:
            yield from _model_section(model)


def _model_section(model: Model) -> Iterator[str]:
    title = f"**{model.name}**" if model.name in TABLES else model.name
    yield from ("", f"### {title}", "")
    reads = ", ".join(sorted(model.reads))
    if isinstance(model, SqlModel):
        yield model.header.description
        source = f"Query: [{model.file}](../{model.file})" + (", a view." if model.is_view else ".")
        paper = f" In the paper: {model.header.facts['paper']}." if "paper" in model.header.facts else ""
        yield from ("", f"{source} Reads {reads}.{paper}", "")
        for name, meaning in model.header.parameters.items():
            yield f"- parameter `{name}`: {meaning}"
        for name, meaning in model.header.columns.items():
            yield f"- `{name}`: {meaning}"
        return
    path = model.function.__module__.replace("originset.", "").replace(".", "/") + ".py"
    yield (inspect.getdoc(model.function) or "").partition("\n")[0]
    yield from ("", f"Function: `{model.function.__name__}` in [{path}](../{path}). Reads {reads}.", "")
    for table, schema in model.writes.items():
        columns = "" if table in TABLES else ": " + ", ".join(f"`{name}`" for name in schema)
        yield f"- writes {table}{columns}"


if __name__ == "__main__":
    sys.stdout.write(page())
