# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A state folder of their own for the processes of a test run: they leave nothing in the folder of this machine."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

NAME = "NODEPOOL_STATE_DIR"


def use_own_state_folder(folder: Path | None = None) -> None:
    """Name a folder to this process and its children, unless one is named.

    :param folder: the caller removes it; when None, a new one is made, and removed when this process ends.
    """
    if NAME in os.environ:
        return
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="nodepool-state-"))
        atexit.register(_remove, folder, os.getpid())
    os.environ[NAME] = str(folder)


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
