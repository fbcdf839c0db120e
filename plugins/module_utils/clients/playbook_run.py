# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a playbook of the operator on one node, by ansible-runner, and tells what came of it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..model.bounded_text import bounded
from ..model.redaction import redacted, redacted_sentence
from . import proc
from .runner_artifacts import (
    ERROR,
    EVENTS,
    STATS,
    TASK_FAILURES,
    TASK_PASSED,
    complaint,
    runner_events,
    said_of_failure,
    was_killed,
)

PROGRAM = "ansible-runner"
PACE = 0.2
"""Seconds between two calls of *wanted*."""
LEAVE = 10.0
"""Seconds that a playbook gets to end when it is stopped."""
LONGEST_REASON = 400
LONGEST_LOG = 2_000_000
"""Largest number of bytes of an output that is kept."""
LOOKED_THROUGH = 3000
"""Most events among which the task is looked for that has failed: an always block may loop over many items after it."""
IDENT, WRAPPER, COLLECTIONS = "play", "gate.yml", "collections"
COMMAND_TASK = "Kernel and packages"
_NOT_INHERITED = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "PYTHONPATH")
_NOT_INHERITED_BEGINNINGS = ("AWX_", "RUNNER_", "ANSIBLE_STDOUT_CALLBACK", "ANSIBLE_CALLBACK")
"""What an ansible-runner around this process has set for its own playbook."""


@dataclass(frozen=True)
class PlaybookEnd:
    """How a playbook ended. *reason*: why it has not passed, in words. *output*: of the command before it.

    :ivar ours: it could not be run, tested nothing, or was ended by somebody on this host: that says nothing about the
        node.
    :ivar unkept: why its log could not be written; "" if it was.
    """

    passed: bool
    reason: str = ""
    output: str = ""
    ours: bool = False
    unkept: str = ""


@dataclass(frozen=True)
class PlaybookRun:
    """A playbook to run.

    :param command: a shell command that is run on the node before; it may fail.
    :param inventory: the inventory, as Ansible reads it from YAML.
    :param known_hosts: lines of the file that *inventory* names as ``{folder}/known_hosts``.
    :param log: path of the file for the output.
    :param timeout: seconds.
    :param secrets: what is hidden in the log and in the reason.
    """

    playbook: str
    command: str
    inventory: Callable[[str], Mapping[str, Any]]
    known_hosts: tuple[str, ...]
    variables: Mapping[str, Any]
    log: str
    timeout: float
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def run(self, wanted: Callable[[], bool] = lambda: True) -> PlaybookEnd:
        """Run the playbook to its end; what it leaves in files is removed, except the log. Never raises OSError.

        :param wanted: the playbook is stopped when this returns False.
        """
        lack = lack_of(self.playbook)
        if lack:
            return PlaybookEnd(False, lack, ours=True)
        try:
            with tempfile.TemporaryDirectory(prefix="stackci-gate-") as folder:
                return self._run(Path(folder), wanted)
        except OSError as problem:
            return PlaybookEnd(False, f"the playbook cannot be run: {problem}", ours=True)

    def _run(self, folder: Path, wanted: Callable[[], bool]) -> PlaybookEnd:
        self._write(folder)
        program = shutil.which(PROGRAM, path=_programs()) or PROGRAM
        arguments = ["run", str(folder), "--playbook", WRAPPER, "--ident", IDENT, "--quiet"]
        with (folder / "runner.log").open("wb") as log:
            # pylint: disable-next=ansible-bad-function  # run_command knows no time-out and ends no process group
            process = subprocess.Popen(
                [program, *arguments],
                cwd=folder,
                env=_environment(os.environ, folder),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            try:
                stopped = _wait(process, self.timeout, wanted)
            finally:
                _end(process, str(folder / "tmp"))
        artifacts = folder / "artifacts" / IDENT
        unkept = self._keep(artifacts / "stdout", folder / "runner.log")
        if not stopped and process.returncode < 0:
            how = f"{PROGRAM} was killed on this host (signal {-process.returncode}) before the playbook had ended"
            return PlaybookEnd(False, how, _output(artifacts), ours=True, unkept=unkept)
        end = self._verdict(artifacts, folder, stopped, process.returncode)
        return replace(end, output=_output(artifacts), unkept=unkept)

    def _verdict(self, artifacts: Path, folder: Path, stopped: str, code: int) -> PlaybookEnd:
        """Return how it ended, as its events show.

        :param stopped: why it was stopped; "" if it was not.
        :param code: the exit status of ansible-runner.
        """
        if stopped and _has_not_begun(artifacts):
            why = "none of its tasks has begun: it may ask for something (vars_prompt), and nobody answers"
            return PlaybookEnd(False, f"{stopped}, and {why}", ours=True)
        if stopped:
            said = complaint(artifacts / "stdout")
            return PlaybookEnd(False, self._told(f"{stopped}; it wrote last: {said}" if said else stopped))
        if was_killed(artifacts):
            how = "ansible-playbook was killed on this host before the playbook had ended: it may lack memory"
            return PlaybookEnd(False, how, ours=True)
        if code == 0 and _tested(artifacts, self.inventory(str(folder))):
            return PlaybookEnd(True)
        if code == 0:
            why = (
                f"no task of {self.playbook} has passed on the node: write hosts: all, and skip or ignore not all tasks"
            )
            return PlaybookEnd(False, why, ours=True)
        failed = self._failed_task(artifacts, self.inventory(str(folder)))
        # Without a task that failed it is the playbook or Ansible: a wrong key, a collection that is not installed.
        return PlaybookEnd(False, failed or self._told(_complaint(artifacts, folder)), ours=not failed)

    def _failed_task(self, artifacts: Path, inventory: Mapping[str, Any]) -> str:
        """Return the failed task and its message; "" if no task has failed, or all that failed were rescued."""
        lost = _lost_hosts(artifacts)
        if lost == set():
            return ""
        for event in runner_events(artifacts / "job_events", most=LOOKED_THROUGH if lost else EVENTS):
            data = event.get("event_data")
            if event.get("event") not in TASK_FAILURES or not isinstance(data, dict) or data.get("ignore_errors"):
                continue
            host = str(data.get("host") or "")
            where = "" if host in _hosts(inventory) else f" on {host}"
            # Each by itself: 'Read the secret': no, is not a secret and its value.
            name = self._told(str(data.get("task") or ""))
            said = self._told(said_of_failure(data.get("res"), str(event.get("stdout") or "")))
            return bounded(f"task {name!r}{where}: {said}", LONGEST_REASON)
        return "a task failed, and its result is too long to be shown here: its log has the end of it" if lost else ""

    def _told(self, text: str) -> str:
        return redacted_sentence(text, self.secrets, LONGEST_REASON)

    def _write(self, folder: Path) -> None:
        for name in ("env", "inventory", "project", "tmp"):
            (folder / name).mkdir(mode=0o700)
        (folder / "known_hosts").write_text("".join(f"{line}\n" for line in self.known_hosts), encoding="utf-8")
        (folder / "inventory" / "hosts.yml").write_text(json.dumps(self.inventory(str(folder))), encoding="utf-8")
        (folder / "env" / "extravars").write_text(json.dumps(dict(self.variables)), encoding="utf-8")
        (folder / "project" / WRAPPER).write_text(json.dumps(self._plays()), encoding="utf-8")
        # Ansible looks for collections beside the first playbook, which is the wrapper.
        collections = os.path.join(os.path.dirname(os.path.abspath(self.playbook)), COLLECTIONS)
        if os.path.isdir(collections):
            (folder / "project" / COLLECTIONS).symlink_to(collections)
        # If this process is killed, the playbook still ends.
        (folder / "env" / "settings").write_text(json.dumps({"job_timeout": int(self.timeout) + 1}), encoding="utf-8")

    def _plays(self) -> list[dict[str, Any]]:
        """Return the plays of the run: the command, and the playbook."""
        tolerant = {"ignore_errors": True, "ignore_unreachable": True}
        raw = {"ansible.builtin.raw": f"{{% raw %}}{self.command}{{% endraw %}}", "changed_when": False}
        task = {"name": COMMAND_TASK, **raw, **tolerant}
        play = {"name": "What is in the image", "hosts": "all", "gather_facts": False, "tasks": [task]}
        return [play, {"ansible.builtin.import_playbook": self.playbook}]

    def _keep(self, *outputs: Path) -> str:
        """Keep the output for people; return why it cannot be kept, which is no reason to reject an image."""
        parts = [part for output in outputs for part in _ends(output)]
        try:
            os.makedirs(os.path.dirname(self.log), exist_ok=True)
            with open(self.log, "wb") as log:
                for part in parts:
                    log.write(redacted(part.decode("utf-8", "replace"), self.secrets).encode("utf-8", "replace"))
        except OSError as problem:
            return f"{self.log}: {problem.strerror or problem}"
        return ""


def _ends(output: Path) -> Iterator[bytes]:
    """Yield the content of a file; of one that is longer than LONGEST_LOG its beginning and its end, in whole lines."""
    half = LONGEST_LOG // 2
    try:
        with output.open("rb") as said:
            size = said.seek(0, os.SEEK_END)
            said.seek(0)
            if size <= LONGEST_LOG:
                yield said.read()
                return
            # What is hidden in a line is not found in a part of it.
            first = _without_part(said.read(half), at_end=True)
            said.seek(size - half)
            last = _without_part(said.read(half), at_end=False)
    except OSError:
        return
    yield first
    yield f"\n[{size - len(first) - len(last)} bytes are left out here]\n".encode()
    yield last


def _without_part(text: bytes, *, at_end: bool) -> bytes:
    """Return a piece of a file without the line that was cut, if it has others."""
    place = text.rfind(b"\n") if at_end else text.find(b"\n", 0, -1)
    if place < 0:
        return text
    return text[:place] if at_end else text[place + 1 :]


def lack_of(playbook: str) -> str:
    """Return why a playbook cannot be run here, whatever the node is; "" if nothing is lacking."""
    if shutil.which(PROGRAM, path=_programs()) is None:
        return f"{PROGRAM} is not installed beside {sys.executable}: install it where the builder runs"
    if not os.path.isfile(playbook):
        return f"the playbook {playbook} is not a file: correct gate in the settings"
    return ""


def _programs() -> str:
    return os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)))


def _environment(inherited: Mapping[str, str], folder: Path) -> dict[str, str]:
    temporary = str(folder / "tmp")
    kept = {
        name: value
        for name, value in inherited.items()
        if name not in _NOT_INHERITED and not name.startswith(_NOT_INHERITED_BEGINNINGS)
    }
    return {
        **kept,
        "PATH": _programs(),
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_RETRY_FILES_ENABLED": "0",
        "TMPDIR": temporary,
        "ANSIBLE_LOCAL_TEMP": temporary,
        # A socket below a long home would have a longer path than ssh can listen at.
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(folder / "cp"),
    }


def _wait(process: subprocess.Popen[bytes], timeout: float, wanted: Callable[[], bool]) -> str:
    """Wait for the end; return why the playbook must be stopped, "" if it has ended."""
    end = time.monotonic() + timeout
    while process.poll() is None:
        left = end - time.monotonic()
        if left <= 0:
            return f"the playbook did not end within {timeout:g} s"
        if not wanted():
            return "the playbook was stopped"
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(min(PACE, left))
    return ""


def _end(process: subprocess.Popen[bytes], temporary: str) -> None:
    """Stop ansible-runner, and kill what is left of its playbook, which has sessions of its own.

    :param temporary: the TMPDIR that only the processes of this run have.
    """
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LEAVE)
    if process.poll() is None:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pid in proc.processes():
        if proc.variable(pid, "TMPDIR") == temporary:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def _lost_hosts(artifacts: Path) -> set[str] | None:
    """Return the hosts that had failed or were lost at the end of the playbook, whatever had become of single tasks.

    None if the playbook has not come to its end: Ansible has said why since the last task, or it was killed.
    """
    for event in runner_events(artifacts / "job_events"):
        data = event.get("event_data")
        if event.get("event") == STATS and isinstance(data, dict):
            ends = (data.get("failures"), data.get("dark"))
            return {str(host) for end in ends if isinstance(end, dict) for host, count in end.items() if count}
        if event.get("event") == ERROR:
            return set()
        if event.get("event") in TASK_FAILURES:
            return None
    return None


def _hosts(inventory: Mapping[str, Any]) -> Mapping[str, Any]:
    hosts: Mapping[str, Any] = inventory.get("all", {}).get("hosts", {})
    return hosts


def _has_not_begun(artifacts: Path) -> bool:
    """Return True if the command on the node has ended, and no task of the playbook has begun."""
    ended = False
    for event in runner_events(artifacts / "job_events"):
        data = event.get("event_data")
        task = data.get("task") if isinstance(data, dict) else None
        if task is not None and task != COMMAND_TASK:
            return False
        ended |= task == COMMAND_TASK and event.get("event") in (TASK_PASSED, *TASK_FAILURES)
    return ended


def _complaint(artifacts: Path, folder: Path) -> str:
    said = complaint(artifacts / "stdout", artifacts / "stderr", folder / "runner.log")
    return said or "the playbook failed without a message"


def _tested(artifacts: Path, inventory: Mapping[str, Any]) -> bool:
    """Return True if a task of the playbook itself has passed on a host of the inventory.

    A playbook for other hosts tests nothing, and succeeds.
    """
    hosts, seen = _hosts(inventory), 0
    for event in runner_events(artifacts / "job_events"):
        seen += 1
        data = event.get("event_data")
        passed = event.get("event") == TASK_PASSED and isinstance(data, dict) and data.get("host") in hosts
        if passed and isinstance(data, dict) and data.get("task") != COMMAND_TASK:
            return True
    return seen >= EVENTS


def _output(artifacts: Path) -> str:
    """Return the output of the command; "" if it was not run."""
    for event in runner_events(artifacts / "job_events", newest=False):
        data = event.get("event_data")
        if event.get("event") == TASK_PASSED and isinstance(data, dict) and data.get("task") == COMMAND_TASK:
            result = data.get("res")
            return str(result.get("stdout") or "") if isinstance(result, dict) else ""
    return ""
