"""A plain list is origins and newlines, whatever the plan held."""

from originset.cli.writers import plain
from originset.cli.writers.origin_set import choose


def test_hostile_plans_give_their_origins_a_line_each(hostile_plans) -> None:
    for plan, origins in hostile_plans:
        assert plain.render(choose(plan, None)[0]).split("\n") == [*origins, ""]
