# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The jars of a newer ZooKeeper than Debian's: those that the Python package ``pyspark`` carries."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tests.matrix.cells import ENVIRONMENTS, CannotRun, last_line

PACKAGE = "pyspark==4.3.0"
"""It has ZooKeeper 3.9.5; 460 MB, of which 16 MB are kept."""
PARTS = ("zookeeper-", "slf4j-api-", "netty-", "snappy-java-", "metrics-core-", "commons-io-", "commons-cli-")
DOWNLOAD_SECONDS = 900.0


def jars() -> Path:
    """The folder with the jars; downloaded once, unless the environment variable STACKCI_ZOOKEEPER names another.

    :raises CannotRun: they cannot be had here.
    """
    if given := os.environ.get("STACKCI_ZOOKEEPER"):
        return Path(given)
    kept = ENVIRONMENTS / PACKAGE
    if not kept.exists():
        ENVIRONMENTS.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=ENVIRONMENTS) as folder:
            _download(Path(folder))
            fresh = Path(folder) / "jars"
            fresh.mkdir()
            _extract(next(Path(folder).glob("*.tar.gz")), fresh)
            fresh.rename(kept)
    return kept


def version() -> str:
    """The version in the names of the jars."""
    found = [jar.stem.removeprefix("zookeeper-") for jar in jars().glob("zookeeper-[0-9]*.jar")]
    return found[0] if found else "of an unknown version"


def _download(folder: Path) -> None:
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), PACKAGE]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise CannotRun(f"{PACKAGE}, which has a newer ZooKeeper, was not here after {DOWNLOAD_SECONDS:g} s") from None
    if done.returncode:
        raise CannotRun(f"{PACKAGE}, which has a newer ZooKeeper, cannot be downloaded: {last_line(done.stderr)}")


def _extract(archive: Path, folder: Path) -> None:
    """Take the jars that a server needs."""
    with tarfile.open(archive, "r|gz") as packed:
        for member in packed:
            name = Path(member.name).name
            if name.endswith(".jar") and name.startswith(PARTS) and (content := packed.extractfile(member)):
                with (folder / name).open("wb") as file:
                    shutil.copyfileobj(content, file)
