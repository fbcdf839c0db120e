# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules that show labels ask the clouds on request whether these can be launched."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..cycles.frame.cycle_options import ConfigOptions
from ..model.config.types import NodepoolConfig
from .arguments import CLOUDS_CONFIG, options_of

OFFERS_ARGUMENTS: dict[str, Any] = {
    "ask_clouds": {"type": "bool", "default": False},
    "clouds_config": CLOUDS_CONFIG,
    "api_timeout": {"type": "float", "default": 10.0},
}
"""Described by the doc fragment ``tree.offers``."""


def unusable_labels(
    module: AnsibleModule, config: NodepoolConfig, providers: Collection[str], labels: Collection[str] = ()
) -> list[dict[str, str]] | None:
    """Return a row for each problem that keeps a label from being launched in a pool; None if the clouds are not asked.

    What is not known becomes a warning.

    :param providers, labels: only these; empty for all.
    """
    if not module.params["ask_clouds"]:
        return None
    # Only here is openstacksdk needed, which takes half a second.
    from ..cycles.launcher.passes.config_check import look_at_clouds

    chosen = [name for name in config.providers if not providers or name in providers]
    found = look_at_clouds(options_of(ConfigOptions, module.params), config, chosen)
    for name, why in found.problems.items():
        if why is not None:
            module.warn(f"the labels of provider {name} could not be checked: {why}")
    for text in (*(f"not checked: {text}" for text in found.unchecked), *found.remarks):
        module.warn(text)
    rows = [{"pool": where, "label": label, "text": text} for where, label, text in found.rows]
    return [row for row in rows if not labels or row["label"] in labels]
