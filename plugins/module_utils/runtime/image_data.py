# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that exports and imports image data."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..cycles.by_hand.image_data_transfer import export_images, import_images
from ..cycles.frame.cycle_options import ConfigOptions
from .arguments import CONFIG_ARGUMENTS, options_of
from .run_cycle import told

IMAGE_DATA_ARGUMENTS: dict[str, Any] = {
    **CONFIG_ARGUMENTS,
    "path": {"type": "path", "required": True},
    "state": {"type": "str", "choices": ["exported", "imported"], "required": True},
    "force": {"type": "bool", "default": False},
}


def image_data(module: AnsibleModule) -> dict[str, Any]:
    """Export or import image data."""
    params = module.params
    work = export_images if params["state"] == "exported" else import_images
    options = options_of(ConfigOptions, params)
    return told(module, work(options, params["path"], force=params["force"], check=module.check_mode))
