# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that checks a configuration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..clients.state_folder import default_folder
from ..cycles.launcher.context.launcher_options import LauncherOptions
from ..cycles.launcher.passes.config_check import check_config
from ..model.errors import PartlyFailed
from .arguments import (
    API_ARGUMENTS,
    CONFIG_ARGUMENTS,
    PROVIDERS_ARGUMENTS,
    options_of,
)
from .run_cycle import told

CONFIG_CHECK_ARGUMENTS: dict[str, Any] = {
    **CONFIG_ARGUMENTS,
    **PROVIDERS_ARGUMENTS,
    **API_ARGUMENTS,
    "offline": {"type": "bool", "default": False},
}


def check(module: AnsibleModule) -> dict[str, Any]:
    """Check the configuration.

    :raises PartlyFailed: when part of it cannot be used; it carries the result.
    """
    params = module.params
    options = options_of(LauncherOptions, params)
    # The cycles of this host know whether nodepool-settings.yaml had options.
    options = replace(options, part=params["offline"] and not params["secure_config"], state_dir=default_folder())
    result = told(module, check_config(options, offline=params["offline"]))
    if result["unusable"]:
        raise PartlyFailed("\n".join(result["unusable"]), result)
    return result
