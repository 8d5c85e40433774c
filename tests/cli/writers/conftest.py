"""A thousand strangers' texts, in every field of a plan that ends up in a file."""

import itertools
import random

import pytest
from hostile_texts import HOSTILE

from originset.models.plans.origin_plan import Announced, Basis, Plan, Server

# Valid host names that formats without quotes would take for something else.
ODD = ["null", "yes", "1e3", "constructor", "prototype"]


def _plan(number: int, chance: random.Random) -> tuple[Plan, list[str]]:
    good = [f"https://h{number}-{i}.good.test{':8443' if i == 2 else ''}" for i in range(3)]
    good = sorted([*good, f"https://{chance.choice(ODD)}"])
    texts = chance.sample(HOSTILE, 4)
    bad = [f"{scheme}{text}" for scheme, text in zip(itertools.cycle(["https://", "", "http://"]), texts, strict=False)]
    entries = [
        Announced(origin=origin, level=None, requests=None, visits=None, seen_share=None, coalesces_today=False)
        for origin in chance.sample(good + bad, 8)
    ]
    text = itertools.cycle(texts)
    basis = Basis(
        study=next(text), visits=-1, vantages=0, first_visit=next(text) + next(text), last_visit="".join(HOSTILE)
    )
    server = Server(server=f"h{number}-0.good.test", announce=entries, left_out=[], warnings=[])
    plan = Plan(
        site=next(text),
        basis=basis,
        servers=[server],
        additions=[],
        additions_left_out=[],
        additions_not_taken=0,
        certificate_id=None,
        certificate_names=None,
    )
    return plan, good


@pytest.fixture(scope="session")
def hostile_plans() -> list[tuple[Plan, list[str]]]:
    """Plans whose every text is hostile, with the only four origins of each that may come out, sorted."""
    chance = random.Random(8336)  # noqa: S311 - a choice of cases, and the same every time
    return [_plan(number, chance) for number in range(250)]
