# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that runs the web service."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..clients.state_folder import default_folder
from ..web.libraries import require_libraries
from ..web.server.application import Visitors, prefix_of
from ..web.server.service import WebOptions, serve
from .arguments import CONFIG_ARGUMENTS, PROGRESS_ARGUMENTS, options_of
from .control import controlled
from .progress import Progress

WEBAPP_ARGUMENTS: dict[str, Any] = {
    **{name: spec for name, spec in CONFIG_ARGUMENTS.items() if name != "clouds_config"},
    **PROGRESS_ARGUMENTS,
    "listen_address": {"type": "str"},
    "port": {"type": "int"},
    "cross_origin": {"type": "bool", "default": False},
    "allowed_hosts": {"type": "list", "elements": "str", "default": []},
    "path_prefix": {"type": "str", "default": ""},
    "duration": {"type": "float"},
    "control_file": {"type": "path"},
    "heartbeat_file": {"type": "path"},
}


def webapp(module: AnsibleModule) -> dict[str, Any]:
    """Serve until the module is told to stop; in check mode only check the configuration."""
    params = module.params
    options, prefix = options_of(WebOptions, params), prefix_of(params["path_prefix"])
    if module.check_mode:
        require_libraries()
        options.load()
        return {"changed": False, "address": None, "seconds": 0.0, "ended": "check mode"}
    with controlled(params["control_file"], params["heartbeat_file"]) as stop:
        served = serve(
            options,
            stop=stop,
            host=params["listen_address"],
            port=params["port"],
            state_dir=default_folder(),
            visitors=Visitors(params["cross_origin"], tuple(params["allowed_hosts"]), prefix),
            duration=params["duration"],
            say=Progress(params["progress_file"]).line,
        )
    return {"changed": False, **served, "ended": stop.reason or "duration"}
