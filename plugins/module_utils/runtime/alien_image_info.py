# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that lists images in the clouds that no record names."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..cycles.by_hand.alien_images import AlienOptions, alien_images
from .arguments import (
    API_ARGUMENTS,
    CONFIG_ARGUMENTS,
    PROVIDERS_ARGUMENTS,
    options_of,
)
from .run_cycle import told

ALIEN_ARGUMENTS: dict[str, Any] = {**CONFIG_ARGUMENTS, **PROVIDERS_ARGUMENTS, **API_ARGUMENTS}


def aliens(module: AnsibleModule) -> dict[str, Any]:
    """List the images."""
    return told(module, alien_images(options_of(AlienOptions, module.params)))
