# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module without packing it where that is possible, and prints its lines."""

from __future__ import annotations

from typing import Any

from ansible import constants as C  # noqa: N812
from ansible.utils.display import Display

from ansible_collections.stackci.nodepool.plugins.plugin_utils.in_place import InPlaceAction
from ansible_collections.stackci.nodepool.plugins.plugin_utils.progress_action import MACHINE_READABLE


class ActionModule(InPlaceAction):
    """The module does the work; see the base."""

    def work(self, task_vars: dict[str, Any], wrap_async: bool) -> dict[str, Any]:
        """What the module returned; its lines are on the screen unless a program reads that."""
        returned = super().work(task_vars, wrap_async)
        if not self._task.no_log and str(C.DEFAULT_STDOUT_CALLBACK).rsplit(".", 1)[-1] not in MACHINE_READABLE:
            for line in returned.get("lines", ()):
                Display().display(str(line))
        return returned
