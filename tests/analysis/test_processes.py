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


ENDS_THE_OTHER = (
    "__import__('os')._exit(1) if __import__('multiprocessing').parent_process() else __import__('time').sleep(1)"
)


# The first process waits for the other, which may take long to start, to have done one.
MET = (
    "(__import__('pathlib').Path({0!r}).touch() if __import__('multiprocessing').parent_process() else "
    "any(iter(lambda: __import__('time').sleep(0.05) or __import__('pathlib').Path({0!r}).exists(), True)), "
    "__import__('os').getpid())[1]"
)


def test_this_process_does_its_part(tmp_path):
    processes = {process for process, _ in shared_out(2, eval, [(MET.format(str(tmp_path / "begun")),)] * 4)}
    assert len(processes) == 2
    assert os.getpid() in processes


def test_what_it_raises_ends_all():
    with pytest.raises(ZeroDivisionError):
        list(shared_out(2, eval, [("1 / 0",)] * 3))


def test_a_process_that_is_ended_from_outside_is_one_line():
    with pytest.raises(UsageError, match="ended from outside"):
        list(shared_out(2, eval, [(ENDS_THE_OTHER,)] * 50))
