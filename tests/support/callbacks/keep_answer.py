# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leaves what a task returned in the file that KEEP_ANSWER names: a task that wrote it would cost two more modules."""

from __future__ import annotations

import json
import os
from typing import Any

from ansible.module_utils.common.json import Direction, get_module_encoder
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: keep_answer
type: aggregate
short_description: Leaves what a task returned in a file
description: Used by tests.
"""


class CallbackModule(CallbackBase):
    """Writes the whole result, of the last task that ended."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "keep_answer"
    CALLBACK_NEEDS_ENABLED = True

    def v2_runner_on_ok(self, result: Any) -> None:
        """A task went well."""
        self._keep(result, {"failed": False})

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """A task failed."""
        self._keep(result, {"failed": True})

    def _keep(self, result: Any, more: dict[str, Any]) -> None:
        path = os.environ["KEEP_ANSWER"]
        # What Ansible notes for itself is not part of what a task can register.
        answer = {**more, **{key: value for key, value in result.result.items() if not key.startswith("_ansible_")}}
        encoder = get_module_encoder("legacy", Direction.CONTROLLER_TO_MODULE)
        with open(f"{path}.new", "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            json.dump(answer, file, cls=encoder)
        os.replace(f"{path}.new", path)
