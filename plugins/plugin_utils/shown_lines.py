# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines that a worker of Ansible shows on standard output.

ansible-core writes them in a thread that ends for good when a write fails, as after ``| head``, and its main thread
then waits forever for the result of the task. What callbacks write is no danger. So lines are written together, in
blocks that a pipe takes at once, and not at all when nobody reads the pipe any more.
"""

from __future__ import annotations

import errno
import os
import select
import stat
from collections.abc import Iterable, Iterator

from ansible.utils.display import Display

BLOCK = 32768
"""Characters of a block; the pipe of Linux takes 65536 bytes."""


def show_lines(lines: Iterable[str]) -> None:
    """Show the lines, as far as somebody reads them. The parent of a worker is ansible-playbook."""
    for block in blocks(lines):
        if has_reader(f"/proc/{os.getppid()}/fd/1"):
            Display().display(block)


def blocks(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines in blocks of at most BLOCK characters, if no line is longer."""
    block: list[str] = []
    size = 0
    for line in lines:
        if block and size + len(line) >= BLOCK:
            yield "\n".join(block)
            block, size = [], 0
        block.append(line)
        size += len(line) + 1
    if block:
        yield "\n".join(block)


def has_reader(path: str) -> bool:
    """Return False when this open file is a pipe that nobody reads any more.

    :param path: such as ``/proc/PID/fd/1``.
    """
    try:
        if not stat.S_ISFIFO(os.stat(path).st_mode):
            return True
        end = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as problem:
        return problem.errno != errno.ENXIO  # which says it of a pipe with a name
    try:
        poll = select.poll()
        poll.register(end, 0)
        return not poll.poll(0)
    finally:
        os.close(end)
