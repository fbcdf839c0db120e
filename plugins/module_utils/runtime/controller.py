# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find out whether the processes that started this module still run.

ansible-playbook runs a module below a worker process with a session of its own. When ansible-playbook is killed the
worker continues, and neither the module's parent nor its pipes change; only the worker has another parent. So the whole
chain of ancestors up to ansible-playbook is watched. A task with ``async`` is meant to outlive its controller.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from ..clients.proc import arguments, process

HIGHEST = 32
"""Most processes in a chain."""


@dataclass(frozen=True)
class Seen:
    """A process: its parent, its session, and the base names of its program and of its first argument."""

    pid: int
    parent: int
    session: int
    names: tuple[str, ...] = ()

    @property
    def is_ansible(self) -> bool:
        """True for one of Ansible's commands, or a worker of it."""
        return any(name.startswith("ansible") for name in self.names)

    @property
    def is_async(self) -> bool:
        """True for Ansible's supervisor of a task with ``async``."""
        return any(name.startswith("async_wrapper") for name in self.names)


def find(pid: int) -> Seen | None:
    """Return the process with that id; None when there is none.

    :raises OSError: when it cannot be read now: too many open files, or too little memory.
    """
    found = process(pid)
    if found is None:
        return None
    names = tuple(os.path.basename(word) for word in arguments(pid)[:2])
    return Seen(pid, found.parent, found.session, names)


class Controller:
    """The chain of ancestors at the time when this object is made.

    :param pid: the process at its lower end.
    :param see: reads a process, as :func:`find` does.
    :param outlives: it is meant to outlive whoever started it, as with nohup. Where Ansible waits for its result, it is
        watched all the same.
    """

    def __init__(self, pid: int, see: Callable[[int], Seen | None] = find, *, outlives: bool = False) -> None:
        self._see = see
        try:
            chain = _chain(pid, see, outlives)
        except OSError:
            chain = []
        self._links = tuple((seen.pid, seen.parent) for seen in chain)

    def gone(self) -> bool:
        """True when a process of the chain has ended or has another parent; False when that cannot be read now."""
        try:
            return any((seen := self._see(pid)) is None or seen.parent != parent for pid, parent in self._links)
        except OSError:
            return False


def _chain(pid: int, see: Callable[[int], Seen | None], outlives: bool) -> list[Seen]:
    """Return the processes whose parents must not change."""
    chain: list[Seen] = []
    ancestors: list[Seen] = []
    current = see(pid)
    while current is not None and current.parent > 1 and len(chain) < HIGHEST:
        chain.append(current)
        current = see(current.parent)
        if current is not None:
            ancestors.append(current)
    if any(seen.is_async for seen in ancestors):
        return []
    first = next((place for place, seen in enumerate(ancestors) if seen.is_ansible), None)
    if first is not None:
        while first + 1 < len(ancestors) and ancestors[first + 1].is_ansible:
            first += 1
        return chain[: first + 1]
    if outlives:
        return []
    # No ancestor is a process of Ansible: watch the processes of this session and the one that started it.
    inside = next((place for place, seen in enumerate(chain) if seen.session != chain[0].session), len(chain))
    return chain[:inside]
