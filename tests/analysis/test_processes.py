"""Work shared out among processes: their results, their environment, and one that ends before its time."""

import os

import pytest

from originset.analysis.processes import shared_out
from originset.data.errors import UsageError


@pytest.mark.parametrize("before", ["3", None])
def test_processes_use_a_thread_each_and_leave_the_environment_as_it_was(before, monkeypatch):
    if before is None:
        monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
    else:
        monkeypatch.setenv("POLARS_MAX_THREADS", before)
    found = dict(shared_out(2, os.getenv, [("POLARS_MAX_THREADS",), ("NO_SUCH_NAME", "x")]))
    assert found == {"1": 0, "x": 1}
    assert os.environ.get("POLARS_MAX_THREADS") == before


def test_a_process_that_is_ended_from_outside_is_one_line():
    with pytest.raises(UsageError, match="ended from outside"):
        list(shared_out(1, os._exit, [(1,)]))
