"""The sources of the documentation site: ``python .ci/site_pages.py FOLDER`` fills the folder.

These are the repository's own pages, docs/, and each file that they link to, all under their paths in the repository:
so the links hold as they are.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
OWN = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE")

_LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")


def site_pages(folder: Path) -> None:
    """Fill ``folder``, which must not be there yet."""
    pending = [ROOT / name for name in OWN] + sorted((ROOT / "docs").glob("*.md"))
    copied: set[Path] = set()
    while pending:
        path = pending.pop()
        if path in copied or not path.is_file():
            continue
        copied.add(path)
        target = folder / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        if path.suffix == ".md":
            pending += [(path.parent / link).resolve() for link in _LINK.findall(path.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    site_pages(Path(sys.argv[1]))
