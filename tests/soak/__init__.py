# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many node lives through many cycles of the launcher's loop, and whether anything grows."""

from __future__ import annotations

import conftest  # noqa: F401 - makes the collection importable from a plain checkout
