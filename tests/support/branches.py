# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A life in which something happens at one of its points, tried at many points, each in a process of its own.

All that comes before a point is the same with and without what happens there. So it is lived once: a process lives on
from point to point, and at each point that is asked for it forks, and the copy goes on to the end with what happens.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar

Case = TypeVar("Case")
Here = Callable[[], Any]
"""To be called at each point; what it returns, unless it is None, happens there."""


class Branches:
    """One life, and what becomes of it.

    :param life: lives it, and raises what is wrong with it.
    :param folder: where the life has files: each process finds them as it left them.
    """

    def __init__(self, life: Callable[[Here], object], folder: Path | None = None) -> None:
        self._life, self._folder = life, folder
        self._process = 0
        self._orders: IO[bytes] | None = None
        self._answers: IO[bytes] | None = None
        self._last = 0
        self._number, self._at, self._what = 0, 0, None
        self._is_branch = False

    def go_on(self, at: int, what: Any) -> None:
        """Live to the end, with *what* at a point; the points of consecutive calls had better ascend.

        :raises AssertionError: something was wrong with that life, or it has no such point.
        """
        if self._orders is None or self._answers is None or at < self._last:
            self.close()
            self._orders, self._answers = self._begin()
        self._last = at
        pickle.dump((at, what), self._orders)
        self._orders.flush()
        try:
            problem = pickle.load(self._answers)
        except EOFError:
            problem = "its process has ended without an answer"
        assert not problem, f"with {what} at point {at}: {problem}"

    def close(self) -> None:
        """End the process, and its copy if there is one."""
        if self._orders is not None and self._answers is not None:
            os.killpg(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
            self._orders.close()
            self._answers.close()
            self._orders = self._answers = None
            for folder in (self._folder, self._aside) if self._folder is not None else ():
                shutil.rmtree(folder, ignore_errors=True)

    def _begin(self) -> tuple[IO[bytes], IO[bytes]]:
        (orders, send), (receive, answers) = os.pipe(), os.pipe()
        self._process = os.fork()
        if self._process == 0:
            os.setpgid(0, 0)
            os.close(send)
            os.close(receive)
            self._live(os.fdopen(orders, "rb"), os.fdopen(answers, "wb"))
        os.setpgid(self._process, self._process)  # both do it: whoever is first, nobody is too late
        os.close(orders)
        os.close(answers)
        return os.fdopen(send, "wb"), os.fdopen(receive, "rb")

    # -- in the process that lives it, and in its copies ---------------------------------------------------------------

    def _live(self, orders: IO[bytes], answers: IO[bytes]) -> NoReturn:
        self._orders, self._answers = orders, answers
        try:
            self._await()
            self._life(self._here)
            problem = "" if self._is_branch else "there is no such point"
        except BaseException:
            problem = traceback.format_exc()
        self._answer(problem)
        os._exit(0)

    def _await(self) -> None:
        assert self._orders is not None
        try:
            self._at, self._what = pickle.load(self._orders)
        except EOFError:
            os._exit(0)

    def _answer(self, problem: str) -> None:
        assert self._answers is not None
        pickle.dump(problem, self._answers)
        self._answers.flush()

    def _here(self) -> Any:
        if self._is_branch:
            return None
        self._number += 1
        while self._number == self._at:
            self._keep_files()
            copy = os.fork()
            if copy == 0:
                self._is_branch = True
                return self._what
            _pid, status = os.waitpid(copy, 0)
            self._restore_files()
            if status != 0:
                self._answer(f"its process has ended with status {status}")
            self._await()
        return None

    def _keep_files(self) -> None:
        if self._folder is not None:
            shutil.copytree(self._folder, self._aside)

    def _restore_files(self) -> None:
        """Have the same content again in the same files: a builder knows the file of its id by its inode."""
        if self._folder is None:
            return
        for path in sorted(self._folder.rglob("*"), reverse=True):
            if not (self._aside / path.relative_to(self._folder)).exists():
                path.rmdir() if path.is_dir() else path.unlink()
        shutil.copytree(self._aside, self._folder, dirs_exist_ok=True)
        shutil.rmtree(self._aside)

    @property
    def _aside(self) -> Path:
        assert self._folder is not None
        return self._folder.with_name(f"{self._folder.name}.aside")


def share(cases: Sequence[Case], part: int, parts: int) -> Sequence[Case]:
    """One of so many parts of *cases*, without gaps."""
    return cases[len(cases) * part // parts : len(cases) * (part + 1) // parts]
