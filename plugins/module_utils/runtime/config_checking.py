# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of a configuration as a module."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.checks.run import check_config
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.cycle import LauncherOptions
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError, PartlyFailed
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.arguments import CONFIG_ARGUMENTS

CONFIG_CHECK_ARGUMENTS: dict[str, Any] = {
    **CONFIG_ARGUMENTS,
    "offline": {"type": "bool", "default": False},
    "providers": {"type": "list", "elements": "str"},
    "api_timeout": {"type": "float", "default": 30.0},
}


def check(module: AnsibleModule) -> dict[str, Any]:
    """Look at the configuration.

    :raises PartlyFailed: something of it cannot be used; it carries the result.
    """
    params = module.params
    if params["api_timeout"] <= 0:
        raise ConfigError([f"api_timeout is {params['api_timeout']:g}: give seconds, more than 0"])
    options = LauncherOptions(
        config=params["config"],
        secure_config=params["secure_config"],
        strict_config=params["strict_config"],
        clouds_config=params["clouds_config"],
        providers=tuple(params["providers"]) if params["providers"] is not None else None,
        api_timeout=params["api_timeout"],
    )
    result = check_config(options, offline=params["offline"])
    for warning in result.pop("warnings"):
        module.warn(warning)
    if result["unusable"]:
        raise PartlyFailed("\n".join(result["unusable"]), result)
    return result
