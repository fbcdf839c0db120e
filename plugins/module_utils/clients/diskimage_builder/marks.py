# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""By what a build of ours is recognised on its machine."""

from __future__ import annotations

MARK = "STACKCI_NODEPOOL_BUILD"
"""The environment variable that every process of a build carries; its value is the build's id."""

TEMPORARY = ".stackci-tmp"
"""The directory with a directory for each build in images-dir; in TMP_DIR a random part follows."""
