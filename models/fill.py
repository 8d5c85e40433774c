"""All model tables of a study at once."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.models.colocated import colocated_hosts
from originset.models.documents import documents
from originset.models.evidence import colocation_evidence
from originset.models.origin_sets import origin_sets
from originset.models.page_counts import page_counts
from originset.models.parameters import Parameters
from originset.models.site_certificates import certificate_additions, site_certificates
from originset.models.timeline import page_load_times


def model_tables(tables: Mapping[str, pl.LazyFrame], parameters: Parameters) -> dict[str, pl.DataFrame]:
    """Every table of stage MODELLED, by name, from the tables of the stages before it (all of them, by name).

    Pure: the same rows give the same tables, whatever their order.
    """
    own = documents(tables, parameters.colocation).collect(engine="streaming").lazy()
    colocated = colocated_hosts(tables, own, parameters.colocation).lazy()
    evidence = colocation_evidence(tables)
    additions = certificate_additions(tables, evidence.lazy(), own, colocated)
    return {
        "colocation_evidence": evidence,
        "page_counts": page_counts(tables, evidence.lazy(), parameters),
        "site_certificates": site_certificates(tables, own, additions.lazy()),
        "certificate_additions": additions,
        "origin_sets": origin_sets(tables, evidence.lazy(), own, colocated),
        "page_load_times": page_load_times(tables, parameters),
    }
