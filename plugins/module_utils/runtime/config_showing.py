# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that shows a configuration. It loads no launcher and connects to nothing."""

from __future__ import annotations

import os
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..clients.config_file import read_source, settings_beside
from ..model.config.drivers import other_providers
from ..reporting.info.config import DEFAULT, setting_rows
from ..reporting.info.fields import refuse_unknown
from .arguments import NAMES, TREE_ARGUMENTS, load, warn_of_other_drivers

CONFIG_INFO_ARGUMENTS: dict[str, Any] = {
    **TREE_ARGUMENTS,
    "sections": NAMES,
    "only_given": {"type": "bool", "default": False},
}


def show(module: AnsibleModule) -> dict[str, Any]:
    """Return the configuration with the effective value of every option.

    :raises ConfigError: when the files have problems; it has all of them.
    """
    params = module.params
    config = load(module, former=False)
    warn_of_other_drivers(module, config)
    secure = read_source(params["secure_config"], secret=True) if params["secure_config"] else None
    own = params["settings"] or settings_beside(params["config"])
    settings = read_source(own, ours=True) if os.path.lexists(own) else None
    source = read_source(params["config"])
    rows = setting_rows(config, source, secure, settings)
    asked = params["sections"]
    refuse_unknown("sections", asked, (row["section"] for row in rows), "there is no section")
    wanted = [row for row in rows if not asked or row["section"] in asked]
    return {
        "changed": False,
        "file": config.path,
        "problems": list(config.warnings),
        "other_providers": other_providers(source.data),
        "settings": [row for row in wanted if row["origin"] != DEFAULT or not params["only_given"]],
    }
