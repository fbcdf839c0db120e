# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hand-over between cycles of one host: a cycle closes the ZooKeeper sessions of cycles that were killed.

The locks of a killed cycle are then free at once instead of after the session time-out.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from ...clients.private_file import FolderNotPrivate
from ...clients.zookeeper.link.reattach import end_session
from ...clients.zookeeper.link.session_file import (
    SessionFile,
    SessionFolder,
    SessionNote,
)
from ...clients.zookeeper.store import Store
from ...model.config.types import ZooKeeperSettings

PACE = 0.5
"""Seconds between two looks at the other cycles' files. A look takes about ten microseconds."""
FORGET = 3600.0
"""Seconds after which a file that no process can use is deleted."""

EndSession = Callable[[ZooKeeperSettings, tuple[int, bytes]], bool]


class Handover:
    """Notes the session of this process in a file, and closes the sessions of processes that have ended.

    Two cycles on one tree do not disturb each other: the file of a running process is locked. The session of a dead
    process is closed regardless of the providers that it acted for, as no process can use it again.

    :param folder: the directory of the files; "" or None for no hand-over.
    :param say: takes lines for the operator.
    """

    def __init__(
        self,
        folder: str | None,
        settings: ZooKeeperSettings,
        *,
        say: Callable[[str], None] = lambda line: None,
        end: EndSession = end_session,
    ) -> None:
        self._path = folder
        self._settings = settings
        self._say = say
        self._end = end
        self._folder: SessionFolder | None = None
        self._file: SessionFile | None = None
        self._store: Store | None = None
        self._written: int | None = None
        self._retry_at: dict[str, float] = {}
        self._wake = threading.Event()
        self._over = False
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if not self._path:
            return self
        try:
            self._folder = SessionFolder(self._path, self._settings)
            self._file = self._folder.make()
            self._folder.forget_other_trees(time.time() - FORGET)
        except (FolderNotPrivate, OSError) as problem:
            self._tell(problem)
            if self._folder is not None:
                self._folder.close()
                self._folder = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(PACE)
            if self._thread.is_alive():
                return  # The thread still uses the folder. Another cycle will remove the file of this dead process.
        if self._file is not None:
            self._file.remove()
        if self._folder is not None:
            self._folder.close()

    def begin(self, store: Store) -> None:
        """Note the session of *store*, also when a new one begins, and start to watch the other cycles' files."""
        if self._file is None:
            return
        self._store = store
        store.on_change(lambda path: None if path else self._wake.set())
        try:
            self._write_note()
        except OSError as problem:
            # For example, the disk is full. The thread tries again.
            self._tell(problem)
        self._thread = threading.Thread(target=self._run, name="hand-over", daemon=True)
        self._thread.start()

    def close_dead_sessions(self, now: float) -> None:
        """Close the sessions of dead processes, once."""
        if self._folder is None or self._file is None:
            return
        for name in self._folder.names():
            if name != self._file.name and now >= self._retry_at.get(name, 0.0):
                inherited = self._folder.inherit(name)
                if inherited is not None:
                    self._end_session(inherited, now)

    def _tell(self, problem: FolderNotPrivate | OSError) -> None:
        why = str(problem)
        if isinstance(problem, OSError):
            why = f"{self._path}: {problem.strerror or problem}: check the folder"
        self._say(f"no quick hand-over after a crash: {why}")

    def _run(self) -> None:
        while not self._over:
            with contextlib.suppress(OSError):
                self._write_note()
                self.close_dead_sessions(time.time())
            self._wake.wait(PACE)
            self._wake.clear()

    def _write_note(self) -> None:
        if self._store is None or self._file is None or self._written == self._store.generation:
            return
        generation, identity = self._store.generation, self._store.identity
        if identity is not None:
            self._file.write(SessionNote.of_this_process(identity))
            self._written = generation

    def _end_session(self, file: SessionFile, now: float) -> None:
        note = file.read()
        if note is None:
            file.remove()
        elif note.process_is_seen or not note.is_from_this_boot:
            if file.age(now) > FORGET and not note.process_is_seen:
                file.remove()
            else:
                file.leave()
        elif self._end(self._settings, note.identity):
            file.remove()
            self._say(f"the session of a launcher that died (process {note.pid}) is closed")
        else:
            self._retry_at[file.name] = now + 10 * PACE
            file.leave()
