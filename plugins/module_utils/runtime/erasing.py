# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that erases a provider from ZooKeeper."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..clients.zookeeper.link import paths
from ..clients.zookeeper.tree_reading import read_tree
from ..cycles.by_hand.erase_provider import erase_provider
from ..cycles.frame.cycle_options import ConfigOptions
from ..model.similar import did_you_mean
from ..reporting.info.names import LAUNCHERS, known_names
from .arguments import CONFIG_ARGUMENTS, options_of
from .run_cycle import told

PROVIDER_ARGUMENTS: dict[str, Any] = {
    **CONFIG_ARGUMENTS,
    "name": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["absent"], "default": "absent"},
    "force": {"type": "bool", "default": False},
}


def provider(module: AnsibleModule) -> dict[str, Any]:
    """Erase the provider's records."""
    params = module.params
    options, name = options_of(ConfigOptions, params), params["name"]
    result = erase_provider(options, name, force=params["force"], check=module.check_mode)
    if not result["erased"] and result["configured"] is None:
        result["warnings"].append(_unknown(options, name))
    return told(module, result)


def _unknown(options: ConfigOptions, name: str) -> str:
    """Return a warning with similar names: an erased provider and a mistyped name cannot be distinguished."""
    config = options.load()
    reading = read_tree(config.zookeeper, (paths.NODES, *LAUNCHERS))
    text = f"neither the configuration nor ZooKeeper has a provider {name!r}: nothing is erased"
    like = did_you_mean(name, known_names("provider", config, reading, [name]))
    return f"{text}; {like}" if like else text
