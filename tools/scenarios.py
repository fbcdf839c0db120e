# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the molecule scenarios, or says in one line why they cannot be run here.

    python -m tools.scenarios [--jobs N] [--seconds S] [SCENARIO ...]   all of them, each to its end
    python -m tools.scenarios --command converge|verify|login|destroy … SCENARIO    one of molecule's own commands

What a scenario says goes to ``.build/log/molecule-SCENARIO.log``.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import BinaryIO

import psutil

from tools import molecule_image, molecule_supplies

ROOT = molecule_image.ROOT
WORK = molecule_image.BUILD / "work"
LOGS = ROOT / ".build" / "log"
TREE = ROOT / ".build" / "stage"
STAGE = TREE / "ansible_collections" / "stackci" / "nodepool"
SCENARIOS = STAGE / "extensions" / "molecule"
PROGRAMS = {"podman": "podman", "runc": "runc", "debootstrap": "debootstrap", "ip": "iproute2"}
ALL_SECONDS = 1500.0
PREPARE_SECONDS = 600.0
"""What image, packages and wheels may take; the most part of it is the network's."""
PROBE_SECONDS = 60.0
DESTROY_SECONDS = 120.0
TAIL = 40
MARK = "STACKCI_SCENARIO"
"""In the environment of everything that a run starts."""


@dataclass(frozen=True)
class Outcome:
    """How a scenario went."""

    name: str
    code: int
    seconds: float
    log: Path


def obstacle() -> str | None:
    """Why containers with systemd cannot be run here; None when they can, as far as can be told without an image."""
    if not sys.platform.startswith("linux"):
        return "needs Linux"
    if os.geteuid() != 0:
        return "needs root, for containers with systemd in networks of their own"
    missing = [package for program, package in PROGRAMS.items() if shutil.which(program) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (make molecule installs them)"
    try:
        molecule_image.podman("info")
        molecule_image.mirror()
    except LookupError as problem:
        return str(problem)
    except (OSError, subprocess.SubprocessError) as problem:
        return f"podman does not work here: {last_words(problem)}"
    return None


PROBE = """\
timeout {seconds:.0f} sh -c 'until systemctl is-system-running | grep -qx -e running -e degraded; do sleep 0.2; done'
mount -t tmpfs probe /mnt && umount /mnt
losetup --find >/dev/null
systemctl is-system-running
"""
"""What a container must be able to do: systemd starts, file systems are mounted, loop devices are found."""


def container_obstacle() -> str | None:
    """Why a container of our image does not start systemd in a network of its own."""
    name = f"stackci-molecule-probe-{os.getpid()}"
    try:
        subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, timeout=30, check=True)
        options = (
            "--detach",
            "--rm",
            "--name",
            name,
            "--network",
            f"ns:/run/netns/{name}",
            "--systemd=always",
            "--privileged",
        )
        molecule_image.podman("run", *options, molecule_image.name(), "/sbin/init")
        try:
            script = "set -e\n" + PROBE.format(seconds=PROBE_SECONDS)
            molecule_image.podman("exec", name, "/bin/sh", "-c", script, seconds=PROBE_SECONDS + 10)
        finally:
            molecule_image.podman("rm", "--force", "--ignore", "--time=1", name, check=False)
    except (OSError, subprocess.SubprocessError) as problem:
        return f"containers do not work here: {last_words(problem)}"
    finally:
        subprocess.run(["ip", "netns", "delete", name], capture_output=True, timeout=30, check=False)
    return None


def last_words(problem: Exception) -> str:
    """The last line that a failed command said."""
    said = getattr(problem, "stderr", None) or getattr(problem, "stdout", None) or str(problem)
    lines = [line.strip() for line in str(said).splitlines() if line.strip()]
    return lines[-1] if lines else repr(problem)


def environment() -> dict[str, str]:
    """For molecule: nothing of the user's own settings, and what extensions/molecule/base.yml uses."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("ANSIBLE_", "MOLECULE_", "OS_"))}
    return {
        **kept,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "ANSIBLE_COLLECTIONS_PATH": str(TREE),
        "CONTAINERS_CONF": str(molecule_image.CONTAINERS_CONF),
        # Containers and networks belong to the machine: those of another checkout have other names.
        "SCENARIOS_ID": hashlib.sha256(str(ROOT).encode()).hexdigest()[:6],
        "SCENARIOS_ROOT": str(STAGE),
        "SCENARIOS_WORK": str(WORK),
        "SCENARIOS_SUPPLIES": str(molecule_supplies.SUPPLIES),
        "SCENARIOS_IMAGE": molecule_image.name(),
        "SCENARIOS_JAVA_IMAGE": molecule_image.java_name(),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
    }


def molecule(command: str, scenario: str) -> list[str]:
    """A command line."""
    program = str(Path(sys.executable).parent / "molecule")
    return [program, "--base-config", str(SCENARIOS / "base.yml"), command, "--scenario-name", scenario]


class Runs:
    """Scenarios that run now, to be ended when we are."""

    def __init__(self, variables: dict[str, str], limit: float) -> None:
        """:param limit: when each of them must have ended, by the monotonic clock."""
        self._variables = variables
        self._limit = limit
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._over = False

    def end(self, _number: int, _frame: FrameType | None) -> None:
        """For a signal: no more is begun, and what runs fails and is cleared away."""
        self._over = True
        for process in list(self._processes):
            kill(process)

    def run(self, scenario: str) -> Outcome:
        """One scenario to its end; nothing of it is left, whatever happens."""
        log = LOGS / f"molecule-{scenario}.log"
        began = time.monotonic()
        code = 1
        with log.open("wb") as output:
            if not self._over and began < self._limit:
                print(f"{scenario}: begun", flush=True)
                code = self._molecule("test", scenario, output, self._limit - began)
            if code:
                self._molecule("destroy", scenario, output, DESTROY_SECONDS)
        return Outcome(scenario, code, time.monotonic() - began, log)

    def _molecule(self, command: str, scenario: str, output: BinaryIO, seconds: float) -> int:
        process = subprocess.Popen(
            molecule(command, scenario),
            cwd=STAGE,
            env={**self._variables, MARK: str(molecule(command, scenario))},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._processes.add(process)
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            output.write(f"\nended after {seconds:g} s\n".encode())
            kill(process)
            return process.wait() or 1
        finally:
            self._processes.discard(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """End molecule and all below it. Ansible's workers leave their process group, so they are told by their mark."""
    process.kill()
    for other in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if other.environ().get(MARK) == str(process.args):
                other.kill()


def prepare() -> str | None:
    """Make image and supplies.

    :return: why the scenarios cannot be run here.
    """
    found = obstacle()
    if found is not None:
        return found
    LOGS.mkdir(parents=True, exist_ok=True)
    WORK.mkdir(parents=True, exist_ok=True)
    before = signal.signal(signal.SIGALRM, _too_late)
    signal.setitimer(signal.ITIMER_REAL, PREPARE_SECONDS)
    try:
        molecule_image.make()
        found = container_obstacle()
        if found is None:
            molecule_image.make_java(molecule_supplies.make())
    except (OSError, subprocess.SubprocessError) as problem:
        return f"image and packages of the containers cannot be made here: {last_words(problem)}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return found


def _too_late(_number: int, _frame: FrameType | None) -> None:
    raise TimeoutError(f"not done after {PREPARE_SECONDS:g} s")


def run_all(names: list[str], jobs: int, limit: float) -> int:
    """Several scenarios side by side, until *limit*."""
    runs = Runs(environment(), limit)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, runs.end)
    with ThreadPoolExecutor(jobs) as pool:
        outcomes = [run.result() for run in as_completed([pool.submit(told, runs, name) for name in names])]
    failed = [outcome.name for outcome in outcomes if outcome.code]
    # On a busy machine one may be late; what goes well alone is named, and does not fail.
    saved = [name for name in failed if not told(runs, name).code]
    if saved:
        print(f"Passed only when run again, alone: {', '.join(saved)}")
    bad = len(failed) - len(saved)
    print(f"{len(names) - bad} of {len(names)} scenarios went well")
    return 1 if bad else 0


def told(runs: Runs, name: str) -> Outcome:
    """Run a scenario and tell how it went."""
    outcome = runs.run(name)
    print(f"{outcome.name}: {'FAILED' if outcome.code else 'ok'} in {outcome.seconds:.0f} s", flush=True)
    if outcome.code:
        for line in outcome.log.read_text("utf-8", "replace").splitlines()[-TAIL:]:
            print(f"    {line}")
        print(f"    the whole of it: {outcome.log}")
    return outcome


def main() -> int:
    """All, or what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tools.scenarios")
    parser.add_argument("--jobs", type=int, default=1, help="how many side by side")
    parser.add_argument("--command", help="one of molecule's commands, for one scenario; its output is shown")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO")
    parser.add_argument("--seconds", type=float, default=ALL_SECONDS, help="what all of them may take, from now")
    options = parser.parse_args()
    limit = time.monotonic() + options.seconds
    known = sorted(path.parent.name for path in SCENARIOS.glob("*/molecule.yml"))
    unknown = sorted(set(options.scenarios) - set(known))
    if unknown:
        parser.error(f"no such scenario: {', '.join(unknown)}; there are {', '.join(known)}")
    why_not = prepare()
    if why_not is not None:
        print(f"skipped: {why_not}")
        return 0
    names = options.scenarios or known
    if options.command:
        return subprocess.run(molecule(options.command, names[0]), cwd=STAGE, env=environment(), check=False).returncode
    return run_all(names, options.jobs, limit)


if __name__ == "__main__":
    sys.exit(main())
