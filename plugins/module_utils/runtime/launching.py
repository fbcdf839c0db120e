# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher cycle as a module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..clients.zookeeper.session_file import default_folder
from ..cycles.launcher.cycle import (
    LauncherOptions,
    run_launcher,
)
from ..cycles.launcher.preview import preview
from ..model.errors import ConfigError
from ..reporting.summary import launcher_summary
from .arguments import (
    CHECK_ARGUMENTS,
    CONFIG_ARGUMENTS,
    CONTROL_ARGUMENTS,
    PROGRESS_ARGUMENTS,
)
from .checking import judged, warn_left_out
from .control import controlled
from .progress import Progress

PROVIDERS_ARGUMENTS: dict[str, Any] = {
    "providers": {"type": "list", "elements": "str"},
    "api_timeout": {"type": "float", "default": 30.0},
}
"""With those of the configuration, what :func:`options_of` needs."""

LAUNCH_ARGUMENTS: dict[str, Any] = {
    **CONFIG_ARGUMENTS,
    **PROGRESS_ARGUMENTS,
    **CONTROL_ARGUMENTS,
    **CHECK_ARGUMENTS,
    **PROVIDERS_ARGUMENTS,
    "duration": {"type": "float", "default": 300.0},
    "until": {"type": "str", "choices": ["settled", "deadline"], "default": "settled"},
    "state_dir": {"type": "path"},
}


def options_of(params: Mapping[str, Any]) -> LauncherOptions:
    """What says which providers of which configuration are meant, and how long their APIs may be silent.

    :raises ConfigError: *api_timeout* makes no sense.
    """
    if params["api_timeout"] <= 0:
        raise ConfigError([f"api_timeout is {params['api_timeout']:g}: give seconds, more than 0"])
    return LauncherOptions(
        config=params["config"],
        secure_config=params["secure_config"],
        strict_config=params["strict_config"],
        clouds_config=params["clouds_config"],
        api_timeout=params["api_timeout"],
        providers=tuple(params["providers"]) if params["providers"] is not None else None,
    )


def launch(module: AnsibleModule) -> dict[str, Any]:
    """Run one cycle, or in check mode show what it would do."""
    params = module.params
    if params["duration"] < 0:
        raise ConfigError([f"duration is {params['duration']:g}: give the seconds to stay, 0 or more"])
    options = replace(
        options_of(params),
        duration=params["duration"],
        until=params["until"],
        state_dir=default_folder() if params["state_dir"] is None else params["state_dir"],
    )
    if module.check_mode:
        result = preview(options)
        if not module._diff:
            result.pop("diff")
    else:
        with controlled(params["control_file"], params["heartbeat_file"]) as stop:
            result = run_launcher(options, progress=Progress(params["progress_file"]).line, stop=stop)
    for warning in result.pop("warnings"):
        module.warn(warning)
    result["summary"] = launcher_summary(result)
    warn_left_out(module, result)
    return judged(module, result)
