# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same world as for nodepool_request: a tree, and a launcher played by hand."""

from __future__ import annotations

from tests.integration.request.conftest import Site, site

__all__ = ["Site", "site"]
