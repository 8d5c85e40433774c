"""``python -m originset``, the same as the ``originset`` command."""

from originset.cli.main import run

run()
