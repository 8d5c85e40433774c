"""The snippet is comments and one property, whose value is YAML's subset that JSON is."""

import json

from originset.cli.writers import h2o
from originset.cli.writers.origin_set import choose


def test_hostile_plans_give_one_property_with_their_origins(hostile_plans) -> None:
    for plan, origins in hostile_plans:
        *comments, last = h2o.render(choose(plan, None)[0]).splitlines()
        assert all(line.startswith("#") and line.isascii() and line.isprintable() for line in comments)
        key, _, value = last.partition(": ")
        assert key == "http2-origin-frame"
        assert json.loads(value) == origins
