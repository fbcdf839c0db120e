# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a user's processes keep what they hand on to one another on a host."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

NAME = "stackci-nodepool"
VARIABLE = "NODEPOOL_STATE_DIR"
"""The variable of the environment that names another folder."""
SERVICES = "/var/lib/nodepool/*/sessions"
"""The folders of the services that the roles install, by their defaults."""


def default_folder() -> str:
    """Return the folder that the environment names, or the user's own one.

    That is below the system's runtime directory, or else below the directory for temporary files.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return os.path.abspath(named)
    user = os.geteuid()
    if user == 0:
        return f"/run/{NAME}"
    runtime = Path(f"/run/user/{user}")
    with contextlib.suppress(OSError):
        if runtime.stat().st_uid == user:
            return str(runtime / NAME)
    return os.path.join(os.environ.get("TMPDIR") or "/tmp", f"{NAME}-{user}")
