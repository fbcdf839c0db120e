# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a cycle as a module, and convert its result to the module's result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ansible.module_utils.basic import AnsibleModule

from ..model.errors import PartlyFailed
from .control import controlled
from .profiling import profiled
from .progress import Progress

Options = TypeVar("Options")
Result = dict[str, Any]


def run_cycle(
    module: AnsibleModule,
    options: Options,
    run: Callable[..., Result],
    preview: Callable[[Options], Result],
    *,
    starts_programs: bool = False,
) -> Result:
    """Return the result of *run*, which control file and signals can stop, or in check mode that of *preview*.

    :param starts_programs: True when the cycle starts programs, such as diskimage-builder.
    """
    if module.check_mode:
        return preview(options)
    params = module.params
    say, files = Progress(params["progress_file"]).line, (params["control_file"], params["heartbeat_file"])
    with controlled(*files, say=say, dump_by_signal=not starts_programs) as stop:
        return profiled(params["profile_file"], say, lambda: run(options, progress=say, stop=stop))


def told(module: AnsibleModule, result: Result) -> Result:
    """Issue the warnings of the result; return it without them, and without the diff unless ``--diff`` was given."""
    if not module._diff:
        result.pop("diff", None)
    for warning in result.pop("warnings"):
        module.warn(warning)
    return result


def cycle_result(module: AnsibleModule, result: Result, summary: Callable[[Result], Result] | None) -> Result:
    """Return the result of a cycle as the module's result: with its summary, without its warnings.

    :raises PartlyFailed: in check mode with ``strict_check``, when a part of the configuration cannot be used. The
        error carries the result.
    """
    told(module, result)
    if "unusable" not in result:  # "unusable" has the same providers
        for name, why in result.get("left_out", {}).items():
            module.warn(f"provider {name} is skipped: {why}")
    if summary is not None:
        result["summary"] = summary(result)
    if module.check_mode and module.params["strict_check"] and result.get("unusable"):
        raise PartlyFailed("\n".join(result["unusable"]), result)
    return result
