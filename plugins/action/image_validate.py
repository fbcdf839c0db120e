# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module, without packing it when that is possible."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.plugin_utils.in_place import InPlaceAction

ActionModule = InPlaceAction
