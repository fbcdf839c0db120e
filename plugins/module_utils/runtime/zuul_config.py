# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that converts nodepool.yaml to Zuul's objects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..cycles.by_hand.zuul_config_file import write_zuul_config
from ..cycles.frame.cycle_options import ConfigOptions
from .arguments import API_ARGUMENTS, CONFIG_ARGUMENTS, options_of
from .run_cycle import told

ZUUL_CONFIG_ARGUMENTS: dict[str, Any] = {
    **CONFIG_ARGUMENTS,
    **API_ARGUMENTS,
    "path": {"type": "path"},
    "offline": {"type": "bool", "default": False},
}


def zuul_config(module: AnsibleModule) -> dict[str, Any]:
    """Convert the configuration."""
    params = module.params
    options = options_of(ConfigOptions, params)
    # ZooKeeper is not needed, and secure.conf, which may name its servers, is often elsewhere.
    options = replace(options, part=not params["secure_config"])
    return told(module, write_zuul_config(options, params["path"], offline=params["offline"], check=module.check_mode))
