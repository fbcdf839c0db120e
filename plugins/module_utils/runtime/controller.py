# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tells whether the processes that started this module still live.

ansible-playbook runs a module below a worker process of its own session. When ansible-playbook is killed the worker
lives on, and neither the module's parent nor its pipes notice anything; only the worker's parent has changed. So the
whole chain of ancestors up to ansible-playbook is watched. A task with ``async`` is meant to outlive its controller.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from ..clients.proc import arguments, process

HIGHEST = 32
"""No chain is longer."""


@dataclass(frozen=True)
class Seen:
    """A process: its parent, its session, and the base names of its program and of its first argument."""

    pid: int
    parent: int
    session: int
    names: tuple[str, ...] = ()

    @property
    def is_ansible(self) -> bool:
        """One of Ansible's commands, or a worker of it."""
        return any(name.startswith("ansible") for name in self.names)

    @property
    def is_async(self) -> bool:
        """Ansible's supervisor of a task that goes on by itself."""
        return any(name.startswith("async_wrapper") for name in self.names)


def look(pid: int) -> Seen | None:
    """The process with that id; None when there is none.

    :raises OSError: it cannot be told now: there are too many open files, or too little memory.
    """
    found = process(pid)
    if found is None:
        return None
    names = tuple(os.path.basename(word) for word in arguments(pid)[:2])
    return Seen(pid, found.parent, found.session, names)


class Controller:
    """The chain of ancestors as it is now.

    :param pid: the process at its lower end.
    :param see: looks at a process.
    """

    def __init__(self, pid: int, see: Callable[[int], Seen | None] = look) -> None:
        self._see = see
        try:
            chain = _chain(pid, see)
        except OSError:
            chain = []
        self._links = tuple((seen.pid, seen.parent) for seen in chain)

    def gone(self) -> bool:
        """True when a link of the chain has broken; what cannot be looked at now has not."""
        try:
            return any((seen := self._see(pid)) is None or seen.parent != parent for pid, parent in self._links)
        except OSError:
            return False


def _chain(pid: int, see: Callable[[int], Seen | None]) -> list[Seen]:
    """The processes whose parents must stay what they are."""
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
    # No process of Ansible among them: watch the processes of this session and the one that started it.
    inside = next((place for place, seen in enumerate(chain) if seen.session != chain[0].session), len(chain))
    return chain[:inside]
