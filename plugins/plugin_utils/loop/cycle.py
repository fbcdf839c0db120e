# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One cycle: ansible-runner in a folder of its own, its heartbeat, and its end."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.runner_artifacts import was_killed
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.stop import DUMP, ENDED, STARTING, STOP
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop import plan, processes
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.ansible_config import write_config
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.artifacts import closing_line
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.log import Entry
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.settings import Settings


@dataclass(frozen=True)
class Beat:
    """The content of a heartbeat file, and when it was touched (nanoseconds)."""

    pid: int
    started: int
    state: str
    touched: int

    @classmethod
    def read(cls, path: Path) -> Beat | None:
        """Read a heartbeat file; None when there is no usable one yet."""
        try:
            touched = path.stat().st_mtime_ns
            found = json.loads(path.read_text("utf-8"))
            return cls(int(found["pid"]), int(found["started"]), str(found["state"]), touched)
        except (OSError, ValueError, KeyError, TypeError):
            return None


class RunningCycle:
    """A cycle that was begun. No method waits.

    :param mark: the value of ``processes.MARK`` in the environment of all processes of the cycle.
    :param now: seconds that never go back.
    """

    def __init__(self, settings: Settings, number: int, folder: Path, mark: str, now: float) -> None:
        self.number = number
        self.settings = settings
        self.killed = False
        self.outcome: plan.Outcome | None = None
        self._folder = folder
        self._mark = mark
        self._began = now
        self._beat: Beat | None = None
        self._beaten_at = now
        self._worked_from: float | None = None
        self._ended_at: float | None = None
        self._asked_at: float | None = None
        self._code: int | None = None
        self._orphaned_at: float | None = None
        self._why = ""
        self._died = False
        self._ident = f"{settings.name}-{number}"
        self._told = 0
        self._process = self._spawn()

    @property
    def pid(self) -> int:
        """The process id of ansible-runner."""
        return self._process.pid

    @property
    def module_pid(self) -> int | None:
        """The process id of the module; None before its first heartbeat and after the cycle's end."""
        return self._beat.pid if self._beat is not None and self._ended_at is None else None

    def lines(self) -> list[Entry]:
        """Return the module's new lines since the last call; complete lines only."""
        try:
            with (self._folder / "lines").open("rb") as file:
                file.seek(self._told)
                data = file.read()
        except OSError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._told += len(whole)
        found = []
        for line in whole.splitlines():
            try:
                found.append(Entry.of_cycle(json.loads(line), self.number))
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
        return found

    def exited(self, code: int) -> None:
        """Record that ansible-runner has ended."""
        self._code = code
        self._process.returncode = code  # the loop has already waited for it

    def observe(self, now: float) -> plan.Cycle:
        """Read the heartbeat and return the state of the cycle."""
        self._listen(now)
        if self._module_is_gone():
            # The module may have written its last beat after this one was read.
            self._listen(now)
            self._died = self._module_is_gone()
        if self._code is not None and self._orphaned_at is None:
            self._orphaned_at = now
        state = self._beat.state if self._beat is not None else STARTING
        if self._code is not None or self._died:
            state = ENDED
        if state in plan.READY and self._worked_from is None:
            self._worked_from = now
        if state == ENDED and self._ended_at is None:
            self._ended_at = now
        return plan.Cycle(
            number=self.number,
            age=now - self._began,
            state=state,
            silence=now - self._beaten_at,
            beaten=self._beat is not None,
            ended=None if self._ended_at is None else now - self._ended_at,
            orphaned=None if self._orphaned_at is None else now - self._orphaned_at,
            stopping=None if self._asked_at is None else now - self._asked_at,
            killed=self.killed,
            judged=self.outcome is not None,
        )

    def _listen(self, now: float) -> None:
        beat = Beat.read(self._folder / "heart")
        if beat is not None and beat != self._beat:
            self._beat, self._beaten_at = beat, now

    def _module_is_gone(self) -> bool:
        """True when the module's process is gone although the module did not report its end."""
        beat = self._beat
        return beat is not None and beat.state != ENDED and not processes.lives(beat.pid, beat.started)

    def stop(self, now: float, reason: str) -> None:
        """Ask the module to end in good order; a module that has not started yet reads the file when it starts."""
        self._asked_at = now
        self._why = self._why or reason
        self._tell(STOP)

    def ask_for_dump(self) -> bool:
        """Ask the module to write what it is doing; False when it was asked to end, or has ended."""
        if self._asked_at is not None or self._ended_at is not None:
            return False
        self._tell(DUMP)
        return True

    def _tell(self, word: bytes) -> None:
        with contextlib.suppress(OSError):
            fresh = self._folder / "control.new"
            fresh.write_bytes(word + b"\n")
            fresh.replace(self._folder / "control")

    def kill(self, reason: str = "") -> int:
        """Send SIGKILL to all processes of the cycle. The loop calls this again until none is left.

        :return: how many processes there were.
        """
        if reason:
            self._why = reason
        self.killed = True
        left = processes.belonging(self._mark)
        for process in left:
            processes.kill(process)
        return len(left)

    def is_gone(self) -> bool:
        """True when no process of the cycle is left."""
        return self._code is not None and not processes.belonging(self._mark)

    def judge(self, now: float) -> plan.Outcome | None:
        """Return how the cycle ended; None while that is not known."""
        if self.outcome is None and (self._code is not None or self._died or self.killed):
            self.outcome = self._judge(now)
        return self.outcome

    def _judge(self, now: float) -> plan.Outcome:
        ended = self._ended_at if self._ended_at is not None else now
        artifacts, troubled = self._folder / "artifacts" / self._ident, False
        lost = was_killed(artifacts)
        well = self._code == 0 and not self.killed and not self._died and not lost
        kind = "ok" if well else "killed" if self.killed else "died" if self._died else "failed"
        if self.killed:
            text = self._why
        elif self._died:
            text = "its module ended without a report"
        elif lost:
            text = "its ansible-playbook was killed: the host may lack memory"
        else:
            said = closing_line(artifacts, well=well)
            text = said.text or ("" if well else f"ansible-runner ended with {self._code}")
            troubled = said.troubled
        worked = None if self._worked_from is None else ended - self._worked_from
        began_in = None if self._worked_from is None else self._worked_from - self._began
        return plan.Outcome(self.number, ended - self._began, worked, well, text, kind, began_in, troubled)

    # -- start ---------------------------------------------------------------------------------------------------

    def _spawn(self) -> subprocess.Popen[bytes]:
        self._folder.mkdir(mode=0o700, parents=True)
        for name in ("env", "project", "tmp"):
            (self._folder / name).mkdir(mode=0o700)
        variables = self._folder / "env" / "extravars"
        variables.write_text(json.dumps(self._variables()), encoding="utf-8")
        parent = os.getpid()
        programs = os.path.realpath(self.settings.programs or os.path.dirname(sys.executable))
        environment = self._environment(os.environ, programs)
        write_config(self._folder / "project", environment)
        with (self._folder / "runner.log").open("wb") as log:
            return subprocess.Popen(
                [os.path.join(programs, "ansible-runner"), *self._arguments()],
                cwd=self._folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=lambda: processes.prepare_child(parent),
            )

    def _arguments(self) -> list[str]:
        artifacts = str(self._folder / "artifacts")
        return [
            "run", str(self._folder), "--playbook", self.settings.playbook, "--ident", self._ident,
            "--artifact-dir", artifacts, "--quiet",
        ]  # fmt: skip

    def _variables(self) -> dict[str, object]:
        """Return the variables of the playbook. The loop's own come last, so that the settings cannot override them."""
        settings, prefix = self.settings, self.settings.prefix
        longest = settings.duration + (settings.overtime if settings.overlap else 0.0)
        return {
            "nodepool_progress": False,
            f"{prefix}_until": "deadline",
            f"{prefix}_state_dir": os.path.join(settings.state_dir, "sessions"),
            **settings.variables,
            f"{prefix}_duration": longest,
            f"{prefix}_control_file": str(self._folder / "control"),
            f"{prefix}_progress_file": str(self._folder / "lines"),
            f"{prefix}_heartbeat_file": str(self._folder / "heart"),
        }

    def _environment(self, inherited: Mapping[str, str], programs: str) -> dict[str, str]:
        temporary = str(self._folder / "tmp")
        settings = self.settings
        unwanted = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "PYTHONPATH")
        collections = settings.collections
        path = {} if collections is None else {"ANSIBLE_COLLECTIONS_PATH": os.path.realpath(collections)}
        return {
            **{name: value for name, value in inherited.items() if name not in unwanted},
            "PATH": f"{programs}:{inherited.get('PATH', os.defpath)}",
            "ANSIBLE_HOME": os.path.join(settings.state_dir, "ansible"),
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
            "ANSIBLE_NOCOLOR": "1",
            **path,
            **settings.environment,
            # All temporary files of a cycle are removed with its folder.
            "TMPDIR": temporary,
            "ANSIBLE_LOCAL_TEMP": temporary,
            "ANSIBLE_REMOTE_TMP": temporary,
            processes.MARK: self._mark,
        }
