# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher cycle as a module."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..cycles.launcher.context.launcher_options import LauncherOptions
from ..cycles.launcher.passes.launcher_cycle import run_launcher
from ..cycles.launcher.passes.preview import preview
from ..reporting.summary import launcher_summary
from .arguments import API_ARGUMENTS, CYCLE_ARGUMENTS, PROVIDERS_ARGUMENTS, options_of
from .run_cycle import cycle_result, run_cycle

LAUNCH_ARGUMENTS: dict[str, Any] = {
    **CYCLE_ARGUMENTS,
    **PROVIDERS_ARGUMENTS,
    **API_ARGUMENTS,
    "prefers": {"type": "list", "elements": "str"},
    "weight": {"type": "float", "default": 1.0},
    "spare_ssh_after": {"type": "float", "default": 0.0},
}


def launch(module: AnsibleModule) -> dict[str, Any]:
    """Run one cycle, or in check mode show what it would do."""
    options = options_of(LauncherOptions, module.params)
    return cycle_result(module, run_cycle(module, options, run_launcher, preview), launcher_summary)
