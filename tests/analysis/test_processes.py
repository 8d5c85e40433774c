"""Work shared out among processes: their results, their environment, and one that ends before its time."""

import os

import pytest

from originset.analysis.processes import ProcessEnded, run_in_own_process, run_in_processes


@pytest.mark.parametrize("before", ["3", None])
def test_processes_use_a_thread_each_and_leave_the_environment_as_it_was(before, monkeypatch):
    if before is None:
        monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
    else:
        monkeypatch.setenv("POLARS_MAX_THREADS", before)
    found = dict(run_in_processes(2, os.getenv, [("POLARS_MAX_THREADS",), ("NO_SUCH_NAME", "x")]))
    assert found == {"1": 0, "x": 1}
    assert os.environ.get("POLARS_MAX_THREADS") == before


# The first process waits for the other, which may take long to start, to have done one.
MET = (
    "(__import__('pathlib').Path({0!r}).touch() if __import__('multiprocessing').parent_process() else "
    "any(iter(lambda: __import__('time').sleep(0.05) or __import__('pathlib').Path({0!r}).exists(), True)), "
    "__import__('os').getpid())[1]"
)


def test_this_process_does_its_part(tmp_path):
    processes = {process for process, _ in run_in_processes(2, eval, [(MET.format(str(tmp_path / "begun")),)] * 4)}
    assert len(processes) == 2
    assert os.getpid() in processes


def test_what_it_raises_ends_all():
    with pytest.raises(ZeroDivisionError):
        list(run_in_processes(2, eval, [("1 / 0",)] * 3))


WAITS = "any(iter(lambda: __import__('time').sleep(0.05) or __import__('pathlib').Path({0!r}).exists(), True))"


def test_a_call_that_ends_its_process_costs_no_other_call(tmp_path):
    begun = str(tmp_path / "begun")
    ending = f"{MET.format(begun)} and __import__('os')._exit(1)"
    # The other two processes are given the first calls; this one does the rest once one of them has begun.
    calls = [(ending,), (ending,), *[(WAITS.format(begun),)] * 4]
    found = {number: result for result, number in run_in_processes(3, eval, calls)}
    assert [number for number in sorted(found) if isinstance(found[number], ProcessEnded)] == [0, 1]
    assert len(found) == 6


def test_a_call_alone():
    assert run_in_own_process(eval, ("6 * 7",)) == 42
    assert isinstance(run_in_own_process(eval, ("__import__('os')._exit(1)",)), ProcessEnded)
    with pytest.raises(ZeroDivisionError):
        run_in_own_process(eval, ("1 / 0",))
