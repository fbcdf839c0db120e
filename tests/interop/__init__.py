# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodepool 11 and Zuul themselves as the judges: their programs on one tree with the collection's, a row for each case.

``make test-interop`` runs all rows; ``make test-interop ARGS="--only cli-list zuul-hold"`` some.
"""

from __future__ import annotations

import conftest  # noqa: F401 - makes the collection importable from a plain checkout
