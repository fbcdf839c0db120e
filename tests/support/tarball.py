# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the workers of a run make once and share: the tarball of this checkout."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.ansible_run import BIN, ROOT, environment


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of all workers of the run."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def made_once(folder: Path) -> Iterator[bool]:
    """``with made_once(folder) as missing:``, then make it if it is missing; no two processes make it at the same time.

    What could not be made is missing for the next one, too.
    """
    mark = folder.with_name(f"{folder.name}.made")
    with mark.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        missing = not mark.stat().st_size
        yield missing
        if missing:
            file.write("made\n")


@pytest.fixture(scope="session")
def tarball(shared: Path) -> Path:
    """The collection, built from this checkout by Ansible."""
    folder = shared / "dist"
    words: list[str | Path] = [BIN / "ansible-galaxy", "collection", "build", ROOT, "--output-path", folder, "--force"]
    with made_once(folder) as missing:
        if missing:
            subprocess.run(words, check=True, timeout=180, capture_output=True, env=environment(shared))
    (made,) = folder.glob("stackci-nodepool-*.tar.gz")
    return made
