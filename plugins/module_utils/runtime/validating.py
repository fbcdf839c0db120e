# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The test of an image by hand as a module."""

from __future__ import annotations

import os
import time
from contextlib import closing
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..clients.zookeeper.store import Store
from ..cycles.by_hand.validate_image import Wish, choose, log_of, validate
from ..model.errors import ConfigError
from .arguments import PROGRESS_ARGUMENTS, TREE_ARGUMENTS, load, warn_of_other_drivers
from .progress import Progress

IMAGE_VALIDATE_ARGUMENTS: dict[str, Any] = {
    **TREE_ARGUMENTS,
    **PROGRESS_ARGUMENTS,
    "image": {"type": "str", "required": True},
    "playbook": {"type": "path", "required": True},
    "provider": {"type": "str"},
    "build_id": {"type": "str"},
    "label": {"type": "str"},
    "private_key": {"type": "path", "no_log": False},
    "timeout": {"type": "int", "default": 600},
    "wait": {"type": "int", "default": 1800},
}


def image_validate(module: AnsibleModule) -> dict[str, Any]:
    """Run a playbook on a new node of an image."""
    params, config, now = module.params, load(module), time.time()
    problems = [f"{name} must be at least 1: it is {params[name]}" for name in ("timeout", "wait") if params[name] < 1]
    if not os.path.isfile(params["playbook"]):
        problems.append(f"playbook: {params['playbook']} is not a file: name a playbook on the host of the module")
    if problems:
        raise ConfigError(problems)
    wish = Wish(
        image=params["image"],
        playbook=os.path.abspath(params["playbook"]),
        log=log_of(config, params["image"], now),
        provider=params["provider"],
        build_id=params["build_id"],
        label=params["label"],
        private_key=os.path.abspath(params["private_key"]) if params["private_key"] else None,
        timeout=params["timeout"],
        wait=params["wait"],
    )
    provider, label = choose(config, wish)
    if module.check_mode:
        warn_of_other_drivers(module, config)
        return {"changed": True, "image": wish.image, "provider": provider, "label": label}
    with closing(Store(config.zookeeper)) as store:
        store.open()
        warn_of_other_drivers(module, config, store.components.pools())
        found = validate(store, config, wish, say=Progress(params["progress_file"]).line)
    return {
        "changed": True,
        "image": wish.image,
        "provider": found.provider,
        "label": found.label,
        "build_id": found.build_id or None,
        "node_id": found.node or None,
        "passed": found.end.passed,
        "reason": found.end.reason or None,
        "log": wish.log if found.node else None,
    }
