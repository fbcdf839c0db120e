# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of a configuration as a module."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..cycles.launcher.config_check import check_config
from ..cycles.launcher.cycle import LauncherOptions
from ..model.errors import PartlyFailed
from .arguments import API_ARGUMENTS, CONFIG_ARGUMENTS, PROVIDERS_ARGUMENTS, options_of
from .cycle import told

CONFIG_CHECK_ARGUMENTS: dict[str, Any] = {
    **CONFIG_ARGUMENTS,
    **PROVIDERS_ARGUMENTS,
    **API_ARGUMENTS,
    "offline": {"type": "bool", "default": False},
}


def check(module: AnsibleModule) -> dict[str, Any]:
    """Look at the configuration.

    :raises PartlyFailed: something of it cannot be used; it carries the result.
    """
    options = options_of(LauncherOptions, module.params)
    result = told(module, check_config(options, offline=module.params["offline"]))
    if result["unusable"]:
        raise PartlyFailed("\n".join(result["unusable"]), result)
    return result
