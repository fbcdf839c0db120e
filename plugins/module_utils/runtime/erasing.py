# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of a provider as a module."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..cycles.frame.options import ConfigOptions
from ..cycles.launcher.erasing import erase_provider
from .arguments import CONFIG_ARGUMENTS, options_of
from .cycle import told

PROVIDER_ARGUMENTS: dict[str, Any] = {
    **CONFIG_ARGUMENTS,
    "name": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["absent"], "default": "absent"},
    "force": {"type": "bool", "default": False},
}


def provider(module: AnsibleModule) -> dict[str, Any]:
    """Erase it."""
    params = module.params
    options = options_of(ConfigOptions, params)
    return told(module, erase_provider(options, params["name"], force=params["force"], check=module.check_mode))
