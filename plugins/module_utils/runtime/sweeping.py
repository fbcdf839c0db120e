# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that deletes leaked things."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..cycles.by_hand.due_nodes import delete_nodes, look_at_nodes
from ..cycles.launcher.leaks.by_hand import run_sweep
from ..cycles.launcher.leaks.sweep_options import SweepOptions
from ..sweeping.candidate import Kind
from .arguments import CONFIG_ARGUMENTS, NAMES, PROVIDERS_ARGUMENTS, options_of
from .run_cycle import told

SWEEP_ARGUMENTS: dict[str, Any] = {
    **CONFIG_ARGUMENTS,
    **PROVIDERS_ARGUMENTS,
    "kinds": {"type": "list", "elements": "str", "choices": list(Kind.ALL), "default": list(Kind.ALL)},
    "min_age": {"type": "float", "default": 600.0},
    "max_deletions": {"type": "int", "default": 50},
    "wait": {"type": "float", "default": 0.0},
    "adopt_sites": NAMES,
    "adopt_unmarked": {"type": "float"},
}


def sweep(module: AnsibleModule) -> dict[str, Any]:
    """Delete leaked things, or in check mode list them."""
    nodes = look_at_nodes if module.check_mode else delete_nodes
    return told(module, run_sweep(options_of(SweepOptions, module.params), nodes=nodes, check=module.check_mode))
