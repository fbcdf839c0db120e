# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a user's processes keep what they hand on to one another on a host."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

NAME = "stackci-nodepool"
SERVICES = "/var/lib/nodepool/*/sessions"
"""The folders of the services that the roles install, by their defaults."""


def default_folder() -> str:
    """Return the user's own folder below the system's runtime directory, or else below that for temporary files."""
    user = os.geteuid()
    if user == 0:
        return f"/run/{NAME}"
    runtime = Path(f"/run/user/{user}")
    with contextlib.suppress(OSError):
        if runtime.stat().st_uid == user:
            return str(runtime / NAME)
    return os.path.join(os.environ.get("TMPDIR") or "/tmp", f"{NAME}-{user}")
