# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies the collection to a place that ends in ``ansible_collections/stackci/nodepool``, as Ansible's tools want it.

The copy holds what git tracks or would track, and is a git repository of its own: ``ansible-test`` asks git which
files there are, and inside a folder that the checkout ignores it would find none and be content.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def listed(root: Path) -> list[Path]:
    """What git tracks or would track below *root*, relative to it; deleted files and links to folders left out."""
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout.split("\0")
    return sorted({Path(name) for name in names if name and (root / name).is_file()})


def same(source: Path, target: Path) -> bool:
    """True when *target* need not be copied again."""
    if not target.is_file():
        return False
    ours, theirs = source.stat(), target.stat()
    return (ours.st_size, ours.st_mtime_ns, ours.st_mode) == (theirs.st_size, theirs.st_mtime_ns, theirs.st_mode)


def main(stage: Path) -> None:
    """Brings *stage* up to date."""
    wanted = listed(ROOT)
    if not (stage / ".git").is_dir():
        stage.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "init", "--quiet", str(stage)], check=True, timeout=60)
        (stage / ".git" / "info" / "exclude").write_text(".ansible/\n.cache/\ntests/output/\n", encoding="utf-8")
    for name in set(listed(stage)) - set(wanted):
        (stage / name).unlink()
    for name in wanted:
        source, target = ROOT / name, stage / name
        if not same(source, target):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


if __name__ == "__main__":
    main(ROOT / sys.argv[1])
