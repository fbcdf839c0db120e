# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The builds cycle as a module."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..cycles.builder.builds.build_cycle import failures_of, run_builds
from ..cycles.builder.builds.build_preview import preview_builds
from ..cycles.builder.builds.unrecorded_build import build_apart, preview_apart
from ..cycles.builder.context.builder_options import BuildOptions
from ..cycles.by_hand.image_actions import (
    clear_away,
    delete_build,
    set_flags,
)
from ..model.errors import PartlyFailed
from ..reporting.summary import builds_summary
from .arguments import CYCLE_ARGUMENTS, options_of
from .progress import Progress
from .run_cycle import cycle_result, run_cycle

BUILD_ARGUMENTS: dict[str, Any] = {
    **CYCLE_ARGUMENTS,
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
}
BUILD_RULES: dict[str, Any] = {
    "required_if": [("state", "absent", ["build_id"]), ("record", False, ["image_names", "output_dir"])],
}


def build(module: AnsibleModule) -> dict[str, Any]:
    """Carry out what the options ask for images and their builds."""
    params = module.params
    images = None if params["image_names"] is None else tuple(dict.fromkeys(params["image_names"]))
    options = options_of(BuildOptions, params, _problems(params), images=images, convert_vhd=params["qemu_img_vhd"])
    result = _work(module, options)
    failures = failures_of(result.get("builds", []))
    is_cycle = "not_built" in result or "plan" in result
    cycle_result(module, result, partial(builds_summary, failures=failures) if is_cycle else None)
    if failures and images is not None:
        raise PartlyFailed("; ".join(failures), result)
    for failure in failures:
        module.warn(failure)
    return result


def _problems(params: Mapping[str, Any]) -> Iterator[str]:
    """Yield problems of the options and of their combination."""
    if params["image_names"] is not None and not params["image_names"]:
        yield "image_names is empty: add an image, or omit the option to build all images that are due"
    for name in params["formats"] or ():
        if not name.isalnum():
            yield f"formats: {name!r} is not a disk image format: use one such as qcow2, raw or vhd"
    acts = {
        f"state={params['state']}": params["state"] != "present",
        "request": params["request"],
        "record=false": not params["record"],
        "force": params["force"],
    }
    asked = [name for name, value in acts.items() if value]
    if len(asked) > 1:
        yield f"{' and '.join(asked)} cannot be combined: use one task for each"
    if params["pause"] is not None and asked and asked != ["request"]:
        yield f"pause cannot be combined with {asked[0]}: set it in a separate task"
    if params["build_id"] is not None and params["state"] != "absent":
        yield "build_id is for state=absent: a new build gets a new id"
    for name in ("output_dir", "formats"):
        if params[name] is not None and params["record"]:
            what = "other builds go into images-dir, in the formats that nodepool.yaml asks for"
            yield f"{name} is for record=false: {what}"


def _work(module: AnsibleModule, options: BuildOptions) -> dict[str, Any]:
    params, check = module.params, module.check_mode
    if params["state"] == "absent":
        return delete_build(options, params["build_id"], check=check)
    if params["state"] == "cleared":
        return clear_away(options, check=check, progress=Progress(params["progress_file"]).line)
    if params["request"] or params["pause"] is not None:
        return set_flags(options, request=params["request"], pause=params["pause"], check=check)
    if params["record"]:
        return run_cycle(module, options, run_builds, preview_builds, starts_programs=True)
    formats = tuple(params["formats"] or ())
    output = {"output_dir": params["output_dir"], "formats": formats}
    apart, apart_preview = partial(build_apart, **output), partial(preview_apart, **output)
    return run_cycle(module, options, apart, apart_preview, starts_programs=True)
