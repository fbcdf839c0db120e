# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same site as the launcher's tests have."""

from __future__ import annotations

from tests.integration.launcher.conftest import bank, site, zookeeper

__all__ = ["bank", "site", "zookeeper"]
