# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m ansible_collections.stackci.nodepool.plugins.plugin_utils.loop [--check] SETTINGS``

Exit codes: 0 when a signal ended the loop; 73 when its directory cannot be used; 75 when another loop uses the
directory; 78 when the settings cannot be used. A unit should not restart the loop after 78: the settings must be
corrected first.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import select
import signal
import sys
from collections.abc import Sequence
from typing import TextIO

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.statsd import Statsd
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lines import amount
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop import processes
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.artifacts import Archive
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.log import INFO, WARNING, write
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.notify import Notifier
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.service import (
    Loop,
    World,
    begin_with,
    folder_of,
    sweep,
)
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.settings import Settings, SettingsError, load

CANNOT_CREATE, TRY_LATER, CONFIG = 73, 75, 78


class Alarm:
    """An alarm that wakes the loop for signals and when a watched process ends."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        self._watched: dict[int, int] = {}

    def watch(self, pids: set[int]) -> None:
        """Watch these processes and stop watching all others."""
        for pid in self._watched.keys() - pids:
            os.close(self._watched.pop(pid))
        for pid in pids - self._watched.keys():
            with contextlib.suppress(OSError):
                self._watched[pid] = os.pidfd_open(pid)

    def wait(self, seconds: float) -> None:
        """Wait for a signal or the end of a watched process, *seconds* at most."""
        poll = select.poll()
        for fd in (self._reader, *self._watched.values()):
            poll.register(fd, select.POLLIN)
        poll.poll(max(0.0, seconds) * 1000)
        with contextlib.suppress(BlockingIOError):
            os.read(self._reader, 4096)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until a signal ends it."""
    parser = argparse.ArgumentParser(prog="nodepool-loop", description="Runs a cycle playbook again and again.")
    parser.add_argument("settings", metavar="SETTINGS", help="a TOML file")
    parser.add_argument("--check", action="store_true", help="only say whether the settings can be used")
    options = parser.parse_args(arguments)
    try:
        settings = load(options.settings)
    except SettingsError as error:
        for problem in error.problems:
            print(problem, file=sys.stderr)
        return CONFIG
    return 0 if options.check else run(settings, options.settings)


def run(settings: Settings, path: str) -> int:
    """Run the service and return its exit code."""
    try:
        folder = folder_of(settings)
        lock = (folder.parent / "loop.lock").open("w", encoding="utf-8")
    except OSError as problem:
        print(f"state_dir cannot be used: {problem}", file=sys.stderr)
        return CANNOT_CREATE
    with lock:
        if not _lock(lock):
            print(f"another loop works in {settings.state_dir}", file=sys.stderr)
            return TRY_LATER
        processes.become_subreaper()
        with Statsd.of_environment(os.environ) as statsd:
            _work(settings, path, Archive(folder), statsd)
    return 0


def _work(settings: Settings, path: str, archive: Archive, statsd: Statsd) -> None:
    notifier = Notifier()
    world = World(begin_with(archive), processes.reap, write, notifier.tell, statsd)
    loop = Loop(settings, path, archive, world)
    if statsd.problem:
        loop.say(WARNING, statsd.problem)
    alarm = Alarm()
    _listen(loop)
    left = sweep(settings)
    if left:
        loop.say(WARNING, f"ended {amount(left, 'process', 'processes')} that an earlier loop had left behind")
    archive.prune(settings, ())
    loop.say(INFO, f"loop {settings.name}: {settings.playbook}, a cycle every {settings.duration:g} s")
    while not loop.over:
        pause = loop.turn()
        notifier.beat()
        if notifier.watchdog is not None:
            pause = min(pause, notifier.watchdog / 2)
        alarm.watch({pid for cycle in loop.cycles if (pid := cycle.module_pid) is not None})
        if not loop.over:
            alarm.wait(pause)
    notifier.tell("STOPPING=1", "STATUS=ended")
    loop.say(INFO, f"loop {settings.name}: ended")


def _listen(loop: Loop) -> None:
    signal.signal(signal.SIGUSR2, lambda *_given: loop.wish_dump())
    signal.signal(signal.SIGTERM, lambda *_given: loop.wish_end())
    signal.signal(signal.SIGINT, lambda *_given: loop.wish_end())
    signal.signal(signal.SIGHUP, lambda *_given: loop.wish_reload())
    signal.signal(signal.SIGCHLD, lambda *_given: None)  # the signal wakes the loop


def _lock(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
