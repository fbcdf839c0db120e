# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module, without packing it when that is possible, and print its lines, repeatedly with the option watch."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ansible import constants as C  # noqa: N812
from ansible.utils.color import ANSIBLE_COLOR

from ansible_collections.stackci.nodepool.plugins.plugin_utils.in_place import InPlaceAction
from ansible_collections.stackci.nodepool.plugins.plugin_utils.progress_action import MACHINE_READABLE
from ansible_collections.stackci.nodepool.plugins.plugin_utils.shown_lines import show_lines

CLEAR = "\033[H\033[2J"
"""Cursor home, erase the screen (ECMA-48)."""
SHORTEST = 1.0
"""Least seconds between two readings."""


def follow(
    look: Callable[[], dict[str, Any]], show: Callable[[dict[str, Any]], None], pause: Callable[[], None]
) -> Any:
    """Read and show until the operator interrupts Ansible; return the result only when the first reading failed.

    A later failure is shown like any other result: ZooKeeper may answer the next time.
    """
    returned = look()
    if returned.get("failed"):
        return returned
    while True:
        show(returned)
        pause()
        returned = look()


def screen(returned: dict[str, Any], seconds: float, now: str, *, clear: bool) -> list[str]:
    """Return the lines of one of several readings.

    :param seconds: seconds between two readings.
    :param now: the time of day.
    :param clear: True: erase the screen first. False: begin with an empty line.
    """
    title = f"{now}, every {seconds:g} s until Ctrl-C"
    told = [str(returned.get("msg"))] if returned.get("failed") else []
    return [f"{CLEAR}{title}" if clear else f"\n{title}", *told, *map(str, returned.get("lines", ()))]


def shown(returned: dict[str, Any]) -> list[str]:
    """Return the lines of a result. Remove them from a failed one, of which Ansible shows everything by itself."""
    lines = returned.pop("lines", ()) if returned.get("failed") else returned.get("lines", ())
    return list(map(str, lines))


class ActionModule(InPlaceAction):
    """The action plugin that prints the module's lines."""

    def work(self, task_vars: dict[str, Any], wrap_async: bool) -> dict[str, Any]:
        """Print the module's lines, unless a program reads Ansible's output, and return the module's result."""
        shows = not self._task.no_log and str(C.DEFAULT_STDOUT_CALLBACK).rsplit(".", 1)[-1] not in MACHINE_READABLE
        seconds = _seconds(self._task.args.get("watch"))
        read = super().work
        returned: dict[str, Any]
        if shows and seconds > 0 and not wrap_async:
            pause = max(SHORTEST, seconds)
            returned = follow(
                lambda: read(task_vars, wrap_async),
                lambda result: show_lines(screen(result, pause, time.strftime("%H:%M:%S"), clear=bool(ANSIBLE_COLOR))),
                lambda: time.sleep(pause),
            )
        else:
            returned = read(task_vars, wrap_async)
        if shows:
            show_lines(shown(returned))
        return returned


def _seconds(value: Any) -> float:
    """Return the value of the option *watch*; 0 for a value that the module will refuse."""
    try:
        return float(value or 0)
    except (TypeError, ValueError):
        return 0.0
