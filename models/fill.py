"""All model tables of a study at once."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.data.schema import MODEL_SENSITIVITY
from originset.models.colocated import colocated_hosts
from originset.models.documents import documents
from originset.models.evidence import SAME_EDGE, colocation_evidence, pair_levels
from originset.models.origin_sets import origin_sets
from originset.models.page_counts import page_counts
from originset.models.parameters import Parameters
from originset.models.parts import ROWS, parts
from originset.models.provider_changes import carried, provider_changes
from originset.models.site_certificates import certificate_additions, site_certificates
from originset.models.timeline import page_load_times


def model_tables(
    tables: Mapping[str, pl.LazyFrame], parameters: Parameters, part_rows: int = ROWS
) -> dict[str, pl.DataFrame]:
    """Every table of stage MODELLED, by name, from the tables of the stages before it (all of them, by name).

    Pure: the same rows give the same tables, whatever their order. What is about pages is done for about ``part_rows``
    requests at a time. ``model_sensitivity`` is empty (:mod:`originset.models.sensitivity` fills it).
    """
    evidence = colocation_evidence(tables)
    levels = pair_levels(evidence.lazy(), SAME_EDGE).collect().lazy()
    pages: dict[str, list[pl.DataFrame]] = {
        name: [] for name in ("documents", "colocated", "carried", "page_counts", "page_load_times")
    }
    for part in parts(tables, parameters.colocation, part_rows):
        own_documents = documents(part, parameters.colocation).collect()
        pages["documents"].append(own_documents)
        pages["colocated"].append(colocated_hosts(part, own_documents.lazy(), parameters.colocation))
        pages["carried"].append(carried(part, own_documents.lazy(), parameters))
        pages["page_counts"].append(page_counts(part, levels, parameters))
        pages["page_load_times"].append(page_load_times(part, parameters))
    whole = {name: pl.concat(frames) for name, frames in pages.items()}
    own, colocated = whole["documents"].lazy(), whole["colocated"].lazy()
    additions = certificate_additions(tables, evidence.lazy(), own, colocated, parameters)
    return {
        "colocation_evidence": evidence,
        "page_counts": whole["page_counts"].sort("visit_id"),
        "site_certificates": site_certificates(tables, own, additions.lazy()),
        "certificate_additions": additions,
        "origin_sets": origin_sets(tables, evidence.lazy(), own, colocated),
        "provider_changes": provider_changes(tables, own, whole["carried"], parameters),
        "page_load_times": whole["page_load_times"].sort("visit_id"),
        "model_sensitivity": MODEL_SENSITIVITY.polars_schema.to_frame(),
    }
