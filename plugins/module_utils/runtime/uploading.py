# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The uploads cycle as a module."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..clients.zookeeper.session_file import default_folder
from ..cycles.builder.delete_upload import delete_one
from ..cycles.builder.upload_cycle import run_uploads
from ..cycles.builder.upload_options import UploadOptions
from ..cycles.builder.upload_preview import preview
from ..model.errors import ConfigError
from ..reporting.summary import uploads_summary
from .arguments import (
    CHECK_ARGUMENTS,
    CONFIG_ARGUMENTS,
    CONTROL_ARGUMENTS,
    PROGRESS_ARGUMENTS,
)
from .checking import judged, warn_left_out
from .control import controlled
from .progress import Progress

UPLOAD_ARGUMENTS: dict[str, Any] = {
    **CONFIG_ARGUMENTS,
    **PROGRESS_ARGUMENTS,
    **CONTROL_ARGUMENTS,
    **CHECK_ARGUMENTS,
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "image": {"type": "str"},
    "provider": {"type": "str"},
    "build_id": {"type": "str"},
    "upload_id": {"type": "str"},
    "force": {"type": "bool", "default": False},
    "duration": {"type": "float", "default": 300.0},
    "until": {"type": "str", "choices": ["settled", "deadline"], "default": "settled"},
    "uploads_per_provider": {"type": "int", "default": 2},
    "hook_timeout": {"type": "float", "default": 600.0},
    "api_timeout": {"type": "float", "default": 30.0},
    "state_dir": {"type": "path"},
}

UPLOAD_RULES: dict[str, Any] = {
    "required_if": [("state", "absent", ("image", "provider", "build_id", "upload_id"))],
    "required_by": {"build_id": ("image",), "upload_id": ("build_id",)},
}


def upload(module: AnsibleModule) -> dict[str, Any]:
    """Run one cycle or delete one upload, or in check mode show what would be done."""
    params = module.params
    _check(params)
    options = UploadOptions(
        config=params["config"],
        secure_config=params["secure_config"],
        strict_config=params["strict_config"],
        clouds_config=params["clouds_config"],
        duration=params["duration"],
        until=params["until"],
        image=params["image"],
        provider=params["provider"],
        build_id=params["build_id"],
        force=params["force"],
        side_by_side=params["uploads_per_provider"],
        hook_timeout=params["hook_timeout"],
        api_timeout=params["api_timeout"],
        state_dir=default_folder() if params["state_dir"] is None else params["state_dir"],
    )
    progress = Progress(params["progress_file"]).line
    if params["state"] == "absent":
        result = delete_one(options, params["upload_id"], check=module.check_mode, progress=progress)
    elif module.check_mode:
        result = preview(options)
    else:
        with controlled(params["control_file"], params["heartbeat_file"]) as stop:
            result = run_uploads(options, progress=progress, stop=stop)
    if not module._diff:
        result.pop("diff", None)
    for warning in result.pop("warnings"):
        module.warn(warning)
    warn_left_out(module, result)
    result["summary"] = uploads_summary(result)
    return judged(module, result)


def _check(params: dict[str, Any]) -> None:
    problems = []
    if params["duration"] < 0:
        problems.append(f"duration is {params['duration']:g}: give the seconds to stay, 0 or more")
    for name in ("api_timeout", "hook_timeout"):
        if params[name] <= 0:
            problems.append(f"{name} is {params[name]:g}: give seconds, more than 0")
    if params["uploads_per_provider"] < 1:
        problems.append(f"uploads_per_provider is {params['uploads_per_provider']}: give 1 or more")
    if params["upload_id"] is not None and params["state"] == "present":
        problems.append("upload_id is for state absent: an upload gets its number when it is made")
    if problems:
        raise ConfigError(problems)
