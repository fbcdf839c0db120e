# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sweep as a module."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..cycles.launcher.leaks.by_hand import run_sweep
from ..cycles.launcher.leaks.options import SweepOptions
from ..sweeping.candidate import Kind
from .arguments import CONFIG_ARGUMENTS

SWEEP_ARGUMENTS: dict[str, Any] = {
    **CONFIG_ARGUMENTS,
    "providers": {"type": "list", "elements": "str"},
    "kinds": {"type": "list", "elements": "str", "choices": list(Kind.ALL), "default": list(Kind.ALL)},
    "min_age": {"type": "float", "default": 600.0},
    "max_deletions": {"type": "int", "default": 50},
    "wait": {"type": "float", "default": 0.0},
    "adopt_sites": {"type": "list", "elements": "str", "default": []},
    "adopt_unmarked": {"type": "float"},
}


def sweep(module: AnsibleModule) -> dict[str, Any]:
    """Sweep, or in check mode list what there is."""
    params = module.params
    options = SweepOptions(
        config=params["config"],
        secure_config=params["secure_config"],
        strict_config=params["strict_config"],
        clouds_config=params["clouds_config"],
        providers=tuple(params["providers"]) if params["providers"] is not None else None,
        kinds=tuple(params["kinds"]),
        min_age=params["min_age"],
        max_deletions=params["max_deletions"],
        wait=params["wait"],
        adopt_sites=tuple(params["adopt_sites"]),
        adopt_unmarked=params["adopt_unmarked"],
    )
    result = run_sweep(options, check=module.check_mode)
    if not module._diff:
        result.pop("diff")
    for warning in result.pop("warnings"):
        module.warn(warning)
    return result
