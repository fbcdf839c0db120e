# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The quick start as a module."""

from __future__ import annotations

import os
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..cycles.quickstart.folder_lock import locked
from ..cycles.quickstart.folder_notes import Notes
from ..cycles.quickstart.prepare import check_port, prepare, private_zookeeper
from ..cycles.quickstart.remove import remove
from ..cycles.quickstart.wish import QuickstartWish
from ..model.errors import ConfigError
from .arguments import API_ARGUMENTS, CLOUDS_CONFIG, PROGRESS_ARGUMENTS
from .progress import Progress

QUICKSTART_ARGUMENTS: dict[str, Any] = {
    "cloud": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "started", "stopped", "absent"], "default": "present"},
    "folder": {"type": "path", "default": "~/nodepool-quickstart"},
    "region": {"type": "str", "default": ""},
    "clouds_config": CLOUDS_CONFIG,
    "image": {"type": "str", "default": ""},
    "user": {"type": "str", "default": ""},
    "flavor": {"type": "str", "default": ""},
    "network": {"type": "str", "default": ""},
    "group": {"type": "str", "default": ""},
    "public_key": {"type": "path", "no_log": False},
    "ssh_port": {"type": "int", "default": 22},
    "zookeeper": {"type": "str", "default": ""},
    "zookeeper_home": {"type": "path"},
    "zookeeper_way": {"type": "str", "choices": ["java", "podman", "docker"]},
    **API_ARGUMENTS,
    **PROGRESS_ARGUMENTS,
}
_OTHERS = ("state", "progress_file")


def quickstart(module: AnsibleModule) -> dict[str, Any]:
    """Prepare a first node, end or start the private ZooKeeper, or remove everything."""
    params = module.params
    given: dict[str, Any] = {name: params[name] for name in QUICKSTART_ARGUMENTS if params[name] is not None}
    wish = QuickstartWish(**{name: value for name, value in given.items() if name not in _OTHERS})
    progress = Progress(params["progress_file"])
    if module.check_mode or (params["state"] != "present" and not os.path.isdir(wish.folder)):
        return _done(module, wish, progress)
    with locked(wish.folder, progress.line):
        return _done(module, wish, progress)


def _done(module: AnsibleModule, wish: QuickstartWish, progress: Progress) -> dict[str, Any]:
    state = module.params["state"]
    if state == "absent":
        removed, kept = remove(wish, preview=module.check_mode, say=progress.line)
        return {"changed": bool(removed), "removed": removed, "kept": kept, "folder": wish.folder}
    if state != "present":
        return _zookeeper(module, wish, progress)
    from ..clients.openstack.clouds import clouds_files_from_here

    ready = prepare(wish, preview=module.check_mode, say=progress.line)
    before = "" if ready.changed else ready.text
    return {
        "changed": ready.changed,
        "diff": {"before": before, "after": ready.text},
        "folder": wish.folder,
        "config": ready.config,
        "text": ready.text,
        "yours": ready.yours,
        "label": ready.label,
        "provider": ready.provider,
        "user": ready.user,
        "private_key": ready.private_key,
        "zookeeper": ready.zookeeper,
        "command": ready.command,
        "clouds_config": clouds_files_from_here(wish.clouds_config)[0],
        "choices": ready.choices,
    }


def _zookeeper(module: AnsibleModule, wish: QuickstartWish, progress: Progress) -> dict[str, Any]:
    notes = Notes.read(wish.folder)
    if not notes.port:
        where = notes.path if os.path.exists(notes.path) else wish.folder
        raise ConfigError([f"{where}: there is no private ZooKeeper: start with state=present"])
    server, starts = private_zookeeper(notes), module.params["state"] == "started"
    if module.check_mode:
        changed = starts != server.answers()
    elif starts:
        if not server.answers():
            check_port(notes)
        changed = server.start(server.way(wish.zookeeper_home, wish.zookeeper_way))
    else:
        changed = server.stop()
    if module.check_mode and changed:
        told = f"would be {'started' if starts else 'stopped'}"
    else:
        told = "runs" if starts else "was stopped" if changed else "does not run"
    progress.line(f"the private ZooKeeper {told}")
    return {"changed": changed, "folder": wish.folder, "zookeeper": f"127.0.0.1:{notes.port}"}
