# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The places that name the version of the collection.

    python -m tools.version           lists those that do not name the one of galaxy.yml
    python -m tools.version 1.2.3     writes this one into all of them

They are galaxy.yml itself, names of the tarball, and names of the images of the execution environments.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NUMBER = r"\d+\.\d+\.\d+"
PLACE = re.compile(rf"(stackci-nodepool-|\bnodepool-(?:launcher|builder):)({NUMBER})\b")
OWN = re.compile(rf"^(version: )({NUMBER})$", re.M)


def version(root: Path = ROOT) -> str:
    """What galaxy.yml says.

    :raises ValueError: it says nothing like a released version.
    """
    found = OWN.search((root / "galaxy.yml").read_text("utf-8"))
    if found is None:
        raise ValueError(f"galaxy.yml has no version of the form {NUMBER}")
    return found[2]


def files(root: Path = ROOT) -> Iterator[Path]:
    """The tracked texts that may name it. Changelogs name former ones."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True, timeout=60
    ).stdout.split("\0")
    for name in names:
        path = root / name
        if name and not name.startswith(("changelogs/", "CHANGELOG")) and path.is_file() and not path.is_symlink():
            yield path


def places(root: Path = ROOT) -> Iterator[tuple[Path, int, str]]:
    """File, line, and version of each place besides galaxy.yml."""
    for path in files(root):
        text = path.read_bytes().decode("utf-8", "replace")
        for found in PLACE.finditer(text):
            yield path, text.count("\n", 0, found.start()) + 1, found[2]


def write(new: str, root: Path = ROOT) -> None:
    """Name this version everywhere."""
    own = root / "galaxy.yml"
    own.write_text(OWN.sub(rf"\g<1>{new}", own.read_text("utf-8")), encoding="utf-8")
    for path in sorted({path for path, _line, _old in places(root)}):
        path.write_text(PLACE.sub(rf"\g<1>{new}", path.read_text("utf-8")), encoding="utf-8")


def main(words: list[str]) -> int:
    """1 when a place names another version, or when what shall be written is none."""
    if words and not re.fullmatch(NUMBER, words[0]):
        print(f"{words[0]} is no version such as 1.2.3")
        return 1
    if words:
        write(words[0])
    others = [f"{path.relative_to(ROOT)}:{line}: {old}" for path, line, old in places() if old != version()]
    print("\n".join([f"galaxy.yml: {version()}", *others]))
    return 1 if others else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
