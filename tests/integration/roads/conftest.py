# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same world as for the examples of CIs: a launcher at work, and nodes that can be logged in to."""

from __future__ import annotations

from tests.integration.ci.conftest import Pool, ci, guests, login_key

__all__ = ["Pool", "ci", "guests", "login_key"]
