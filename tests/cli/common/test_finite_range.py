"""Numbers of the command line: NaN and infinity are none, whatever the range."""

import click
import pytest

from originset.cli.common.finite_range import FiniteRange


@pytest.mark.parametrize("text", ["nan", "-nan", "inf", "-inf", "1e400"])
@pytest.mark.parametrize("kind", [FiniteRange(1, 60), FiniteRange(min=1), FiniteRange(max=1), FiniteRange()])
def test_what_is_not_finite_is_refused(kind: FiniteRange, text: str) -> None:
    with pytest.raises(click.BadParameter):
        kind.convert(text, None, None)


def test_a_number_within_the_range_is_taken() -> None:
    assert FiniteRange(1, 60).convert("2.5", None, None) == 2.5


def test_every_command_takes_finite_numbers_alone(run) -> None:
    for command in (
        ("check", "server", "a.test", "--max-time", "nan"),
        ("crawl", "list.txt", "--timeout", "nan"),
        ("crawl", "list.txt", "--per-address", "nan"),
        ("study", "enrich", "--live", "--rate", "nan"),
        ("study", "enrich", "--live", "--max-time", "inf"),
    ):
        done = run(*command)
        assert (done.returncode, "not a finite number" in done.stderr or "not in the range" in done.stderr) == (2, True)
