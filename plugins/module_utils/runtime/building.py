# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The builds cycle as a module."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..clients.zookeeper.session_file import default_folder
from ..cycles.builder.build_cycle import failures_of, run_builds
from ..cycles.builder.build_options import BuildOptions
from ..cycles.builder.build_preview import preview_builds
from ..cycles.builder.manual_actions import (
    clear_away,
    delete_build,
    set_flags,
)
from ..cycles.builder.unrecorded_build import (
    build_apart,
    formats_apart,
    load_apart,
)
from ..model.errors import ConfigError, PartlyFailed
from ..reporting.summary import builds_summary
from .arguments import (
    CHECK_ARGUMENTS,
    CONFIG_ARGUMENTS,
    CONTROL_ARGUMENTS,
    PROGRESS_ARGUMENTS,
)
from .checking import judged, warn_left_out
from .control import controlled
from .progress import Progress

BUILD_ARGUMENTS: dict[str, Any] = {
    **CONFIG_ARGUMENTS,
    **PROGRESS_ARGUMENTS,
    **CONTROL_ARGUMENTS,
    **CHECK_ARGUMENTS,
    "image_names": {"type": "list", "elements": "str", "aliases": ["name", "image_name"]},
    "state": {"type": "str", "choices": ["present", "absent", "cleared"], "default": "present"},
    "build_id": {"type": "str"},
    "force": {"type": "bool", "default": False},
    "request": {"type": "bool", "default": False},
    "pause": {"type": "bool"},
    "record": {"type": "bool", "default": True},
    "output_dir": {"type": "path"},
    "formats": {"type": "list", "elements": "str"},
    "qemu_img_vhd": {"type": "bool", "default": False},
    "first_build_room": {"type": "int", "default": 1024},
    "duration": {"type": "float", "default": 300.0},
    "until": {"type": "str", "choices": ["settled", "deadline"], "default": "settled"},
    "state_dir": {"type": "path"},
}
BUILD_RULES: dict[str, Any] = {
    "required_if": [("state", "absent", ["build_id"]), ("record", False, ["image_names", "output_dir"])],
}


def build(module: AnsibleModule) -> dict[str, Any]:
    """Do what is asked of images and their builds."""
    params = module.params
    _check(params)
    options = BuildOptions(
        config=params["config"],
        secure_config=params["secure_config"],
        strict_config=params["strict_config"],
        clouds_config=params["clouds_config"],
        images=tuple(dict.fromkeys(params["image_names"])) if params["image_names"] is not None else None,
        force=params["force"],
        duration=params["duration"],
        until=params["until"],
        state_dir=default_folder() if params["state_dir"] is None else params["state_dir"],
        convert_vhd=params["qemu_img_vhd"],
        first_build_room=params["first_build_room"],
    )
    result = _work(module, options)
    if not module._diff:
        result.pop("diff", None)
    for warning in result.pop("warnings"):
        module.warn(warning)
    warn_left_out(module, result)
    failures = failures_of(result.get("builds", []))
    if "not_built" in result or "plan" in result:
        result["summary"] = builds_summary(result, failures)
    if failures and options.images is not None:
        raise PartlyFailed("; ".join(failures), result)
    for failure in failures:
        module.warn(failure)
    return judged(module, result)


def _check(params: dict[str, Any]) -> None:
    """What the options themselves say is wrong.

    :raises ConfigError: with all problems.
    """
    problems = []
    if params["duration"] < 0:
        problems.append(f"duration is {params['duration']:g}: give the seconds to stay, 0 or more")
    if params["first_build_room"] < 0:
        problems.append(f"first_build_room is {params['first_build_room']}: give MiB, 0 or more")
    if params["image_names"] is not None and not params["image_names"]:
        problems.append("image_names is empty: name an image, or leave the option out for all that are due")
    known = [name for name in params["formats"] or () if not name.isalnum()]
    problems += [
        f"formats: {name!r} is no format of a disk image: give one such as qcow2, raw or vhd" for name in known
    ]
    acts = {
        f"state={params['state']}": params["state"] != "present",
        "request": params["request"],
        "record=false": not params["record"],
        "force": params["force"],
    }
    asked = [name for name, value in acts.items() if value]
    if len(asked) > 1:
        problems.append(f"{' and '.join(asked)} cannot be combined: they ask for different things")
    if params["pause"] is not None and asked and asked != ["request"]:
        problems.append(f"pause cannot be combined with {asked[0]}: set it by a task of its own")
    if params["build_id"] is not None and params["state"] != "absent":
        problems.append("build_id is for state=absent: a new build gets an id of its own")
    problems += [
        f"{name} is for record=false: other builds go into images-dir, in the formats that nodepool.yaml asks for"
        for name in ("output_dir", "formats")
        if params[name] is not None and params["record"]
    ]
    if problems:
        raise ConfigError(problems)


def _work(module: AnsibleModule, options: BuildOptions) -> dict[str, Any]:
    params, check = module.params, module.check_mode
    if params["state"] == "absent":
        return delete_build(options, params["build_id"], check=check)
    if params["state"] == "cleared":
        return clear_away(options, check=check, progress=Progress(params["progress_file"]).line)
    if params["request"] or params["pause"] is not None:
        return set_flags(options, request=params["request"], pause=params["pause"], check=check)
    formats = tuple(params["formats"] or ())
    if check:
        return preview_builds(options) if params["record"] else _preview_apart(options, formats)
    progress = Progress(params["progress_file"])
    with controlled(params["control_file"], params["heartbeat_file"]) as stop:
        if not params["record"]:
            return build_apart(options, params["output_dir"], formats=formats, progress=progress.line, stop=stop)
        return run_builds(options, progress=progress.line, stop=stop)


def _preview_apart(options: BuildOptions, formats: tuple[str, ...]) -> dict[str, Any]:
    config = load_apart(options)
    wanted = formats_apart(options, config, formats)
    lines = [f"image {name}: build {', '.join(chosen)}, asked for\n" for name, chosen in wanted.items()]
    return {
        "changed": True,
        "ended": "check",
        "diff": {"before": "", "after": "".join(lines), "after_header": "builder plan"},
        "warnings": list(config.warnings),
    }
