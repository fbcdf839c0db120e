# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leaves what each module was given in the file that KEEP_ARGUMENTS names: what a task registers lacks it."""

from __future__ import annotations

import json
import os
from typing import Any

from ansible.module_utils.common.json import Direction, get_module_encoder
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: keep_arguments
type: aggregate
short_description: Leaves the arguments of modules in a file
description: Used by tests.
"""


class CallbackModule(CallbackBase):
    """Adds a line for each task that ended: its name and the arguments of its module."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "keep_arguments"
    CALLBACK_NEEDS_ENABLED = True

    def v2_runner_on_ok(self, result: Any) -> None:
        """A task went well."""
        self._keep(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """A task failed."""
        self._keep(result)

    def _keep(self, result: Any) -> None:
        line = [result.task.get_name(), result.result.get("invocation", {}).get("module_args")]
        with open(os.environ["KEEP_ARGUMENTS"], "a", encoding="utf-8") as file:
            file.write(json.dumps(line, cls=get_module_encoder("legacy", Direction.CONTROLLER_TO_MODULE)) + "\n")
