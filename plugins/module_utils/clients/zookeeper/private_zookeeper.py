# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A private ZooKeeper for one user of this machine, on loopback: a Java process, or a container.

A Java process is found by its command line, which names the configuration file in the server's own folder. A container
is found by its name. So it is found again also after a kill or a reboot. Its folder has a note of what it is, because
the data of a container are not those of a Java process.
"""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

from ...model.errors import ConfigError, StoreError, wrong
from .. import proc
from .link.four_letters import four_letters

HOST = "127.0.0.1"
CLIENT_PORT = 2181
IMAGES = {"docker": "zookeeper:3.9", "podman": "docker://zookeeper:3.9"}
"""The official image; podman needs the transport to know where a short name is."""
MAIN = "org.apache.zookeeper.server.ZooKeeperServerMain"
HEAP_MIB = 256
START_SECONDS = 60.0
STOP_SECONDS = 15.0
PULL_SECONDS = 300.0
CALL_SECONDS = 30.0
PAUSE = 0.05
DEBIAN_JARS = "/usr/share/java"
_PORT = f'{{{{(index (index .HostConfig.PortBindings "{CLIENT_PORT}/tcp") 0).HostPort}}}}'
"""Template of inspect, for docker and for podman: the published port."""
_NETTY = ("buffer", "codec", "common", "handler", "resolver", "transport", "transport-native-unix-common")
_HOMES = ("/opt/zookeeper", "/usr/share/zookeeper", "/usr/lib/zookeeper", "/opt/apache-zookeeper*")
_PACKAGES = (
    "On Debian and Ubuntu: sudo apt-get install --no-install-recommends default-jre-headless zookeeper, or have the"
    " playbook do it with -e zookeeper_way=package (and -K, which asks for the password of sudo)"
)
_OR_JAVA = f", or use Java. {_PACKAGES}"


@dataclass(frozen=True)
class Way:
    """How ZooKeeper is run. *kind*: ``java``, ``podman`` or ``docker``; *class_path* is Java's."""

    kind: str
    program: str
    class_path: str = ""

    def __str__(self) -> str:
        return _called(self.kind)


def _called(kind: str) -> str:
    return "a Java process" if kind == "java" else f"a container of {kind}"


def find_way(home: str = "", only: str = "", which: Callable[[str], str | None] = shutil.which) -> Way:
    """Return the first way that this machine has: Java with ZooKeeper's jars, podman, docker.

    :param home: folder of an unpacked ZooKeeper; "" for the usual places.
    :param only: the kind that is wanted; "" for the first that there is.
    :raises ConfigError: there is none, or no ZooKeeper is in *home*; the message has what helps.
    """
    java, jars = which("java"), class_path(home)
    if home and not jars and only in ("", "java"):
        raise wrong(
            f"zookeeper_home is {home}, which has no lib/zookeeper-*.jar: name the folder of an unpacked release of"
            " ZooKeeper, or leave zookeeper_home away"
        )
    if java and jars and only in ("", "java"):
        return Way("java", java, jars)
    for kind in ("podman", "docker"):
        program = which(kind)
        if program and only in ("", kind):
            return Way(kind, program)
    raise wrong(
        f"a private ZooKeeper cannot be started: this machine has {_lacking(bool(java), bool(jars), only)}."
        f" {_PACKAGES}. Or install podman. Or name a ZooKeeper that runs elsewhere: -e zookeeper=HOST:PORT"
    )


def _lacking(java: bool, jars: bool, only: str) -> str:
    """Return ``no Java, and no podman or docker``."""
    if only in ("podman", "docker"):
        return f"no {only} (zookeeper_way)"
    what = "no Java" if jars else "no ZooKeeper" if java else "neither Java nor ZooKeeper"
    return what if only else f"{what}, and no podman or docker"


def check_way(way: Way) -> None:
    """Check that containers can be run at all, if that is the way.

    :raises ConfigError: they cannot; the message has the remedy.
    """
    if way.kind != "java" and (asked := _call(way, "info")).returncode != 0:
        raise ConfigError([f"a private ZooKeeper cannot be started as {way}: {_told(way, asked)}{_OR_JAVA}"])


def _told(way: Way, ran: subprocess.CompletedProcess[str]) -> str:
    """Return what the program has said, with the remedy."""
    said = (ran.stderr or ran.stdout).strip()[-500:].rstrip(".?")
    if "permission denied" in said.lower() and way.kind == "docker":
        remedy = "add this user to the group docker (sudo usermod -aG docker USER) and log in again"
    elif "daemon" in said and "running" in said:
        remedy = "start its service (sudo systemctl start docker)"
    elif any(sign in said for sign in ("Unable to find image", "pull", "registry")):
        remedy = f"this machine must reach the registry of {IMAGES[way.kind]}, or have that image already"
    else:
        remedy = "check that this user can run containers"
    return f"{said}: {remedy}"


def class_path(home: str = "") -> str:
    """Return Java's class path: of an unpacked ZooKeeper, or of Debian's package; "" when there is none."""
    usual = [place for pattern in _HOMES for place in sorted(glob.glob(pattern), reverse=True)]
    for place in [home] if home else [os.environ.get("ZOOKEEPER_HOME", ""), *usual]:
        if place and glob.glob(os.path.join(place, "lib", "zookeeper-[0-9]*.jar")):
            return f"{place}/lib/*"
    if home or not os.path.exists(f"{DEBIAN_JARS}/zookeeper.jar"):
        return ""
    # The manifest of the package's jar names most of the rest. It forgets a part of netty.
    jars = ["zookeeper", "slf4j-nop", *(f"netty-{part}" for part in _NETTY)]
    return ":".join(f"{DEBIAN_JARS}/{jar}.jar" for jar in jars)


def free_port() -> int:
    """Return a port of loopback on which nobody listens."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    """Return True if nobody listens on the port of loopback."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


class PrivateZooKeeper:
    """One such server.

    :param folder: for its configuration, data and log; made when it starts.
    :param name: of its container, unique on this machine.
    :param port: its port of loopback.
    """

    def __init__(
        self,
        folder: str,
        name: str,
        port: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.folder = folder
        self.name = name
        self.port = port
        self._clock = clock
        self._sleep = sleep

    @property
    def config(self) -> str:
        """The path of its configuration file."""
        return os.path.join(self.folder, "zoo.cfg")

    @property
    def log(self) -> str:
        """The path of the log of a Java process."""
        return os.path.join(self.folder, "server.log")

    @property
    def _data(self) -> str:
        return os.path.join(self.folder, "data")

    @property
    def _note(self) -> str:
        return os.path.join(self.folder, "way")

    def started_as(self) -> str:
        """Return the kind as which it was started and has its data; "" when it never was."""
        with contextlib.suppress(OSError), open(self._note, encoding="utf-8") as file:
            if (kind := file.read().strip()) in ("java", *IMAGES):
                return kind
        return "java" if os.path.isdir(os.path.join(self._data, "version-2")) else ""

    def way(self, home: str = "", only: str = "", which: Callable[[str], str | None] = shutil.which) -> Way:
        """Return the way by which it was started before, or else the first one of this machine.

        :param home: and *only*: as for find_way.
        :raises ConfigError: this machine does not have that way, or another one is wanted.
        """
        before = self.started_as()
        if before and only not in ("", before):
            raise wrong(
                f"the private ZooKeeper of {self.folder} was started as {_called(before)}, which has its data: leave"
                f" zookeeper_way={only} away, or remove everything with -e state=absent first"
            )
        return find_way(home, before or only, which)

    def pids(self) -> list[int]:
        """Return the Java processes that run with its configuration file: one, or none."""
        return [
            pid for pid in proc.processes() if (words := _words(pid)) and words[-1] == self.config and MAIN in words
        ]

    def start(self, way: Way) -> bool:
        """Start it and wait until it answers; return False when it already did.

        One that an interrupted run has started, and that does not answer yet, is waited for.

        :raises StoreError: it does not start; the message has the end of its log.
        """
        if self.answers():
            return False
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        self._end_orphan()
        is_new = not self.started_as()
        with open(self._note, "w", encoding="utf-8") as file:
            file.write(f"{way.kind}\n")
        try:
            self._begin(way)
        except StoreError:
            if is_new and not self.pids() and not (way.kind != "java" and self._is_running(way)):
                self._forget()
            raise
        return True

    def _begin(self, way: Way) -> None:
        child = None
        if way.kind != "java":
            self._start_container(way)
        elif not self.pids():
            child = self._start_java(way)
        end = self._clock() + START_SECONDS
        while not self.answers():
            if self._clock() > end or (child is not None and child.poll() is not None):
                why = self._why_silent(way, child)
                raise StoreError(f"the private ZooKeeper ({way}) does not answer on {HOST}:{self.port}: {why}")
            self._sleep(PAUSE)

    def _why_silent(self, way: Way, child: subprocess.Popen[bytes] | None) -> str:
        if way.kind == "java" and child is None:
            pids = ", ".join(map(str, self.pids()))
            return f"its process {pids} hangs: end it with -e state=stopped, then repeat"
        return self._last_words(way)

    def _forget(self) -> None:
        """Forget a way that did not work and has no data, so that another one can be tried."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._note)

    def _end_orphan(self) -> None:
        """End a process whose folder somebody has removed: it has lost its data, and may have another port."""
        if self.pids() and not os.path.exists(self.config):
            self._end_java()

    def _start_java(self, way: Way) -> subprocess.Popen[bytes]:
        data = self._data
        os.makedirs(data, mode=0o700, exist_ok=True)
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(
                f"# Written by stackci.nodepool.quickstart.\ntickTime=2000\ndataDir={data}\nclientPort={self.port}\n"
                f"clientPortAddress={HOST}\nmaxClientCnxns=0\nautopurge.purgeInterval=1\nadmin.enableServer=false\n"
                "4lw.commands.whitelist=ruok,srvr\n"
            )
        options = [f"-Xmx{HEAP_MIB}m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        options += ["-Dzookeeper.jmx.log4j.disable=true", "-Dzookeeper.extendedTypesEnabled=true"]
        command = [way.program, *options, "-cp", way.class_path, MAIN, self.config]
        with open(self.log, "ab") as log:
            # pylint: disable-next=ansible-bad-function  # run_command knows no time-out and ends no process group
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, start_new_session=True
            )

    def _start_container(self, way: Way) -> None:
        found = _call(way, "inspect", "--format", _PORT, self.name)
        if found.returncode == 0 and found.stdout.strip() == str(self.port):
            # Never removed here, whatever start says: it has the data.
            if (ran := _call(way, "start", self.name)).returncode != 0:
                raise StoreError(f"the container {self.name} of {way.kind} does not start: {_told(way, ran)}")
            return
        if found.returncode != 0 and (asked := _call(way, "info")).returncode != 0:
            raise StoreError(f"the container {self.name} of {way.kind} cannot be started: {_told(way, asked)}")
        if found.returncode == 0:
            # The port was changed before anything used it.
            _call(way, "rm", "--force", "--volumes", self.name)
        publish = f"{HOST}:{self.port}:{CLIENT_PORT}"
        options = ["--detach", "--name", self.name, "--publish", publish]
        options += ["--env", "ZOO_4LW_COMMANDS_WHITELIST=ruok,srvr", "--env", f"JVMFLAGS=-Xmx{HEAP_MIB}m"]
        ran = _call(way, "run", *options, IMAGES[way.kind], seconds=PULL_SECONDS)
        if ran.returncode != 0:
            if _call(way, "inspect", "--format", "{{.State.Status}}", self.name).stdout.strip() == "created":
                _call(way, "rm", "--force", "--volumes", self.name)
            raise StoreError(f"{way.kind} does not start the image {IMAGES[way.kind]}: {_told(way, ran)}{_OR_JAVA}")

    def _last_words(self, way: Way) -> str:
        if way.kind != "java":
            return (_call(way, "logs", "--tail", "5", self.name).stderr or "its log is empty").strip()[-500:]
        try:
            with open(self.log, encoding="utf-8", errors="replace") as file:
                return f"{self.log} ends with: {file.read()[-500:].strip() or 'nothing'}"
        except OSError as problem:
            return f"{self.log} cannot be read: {problem.strerror}"

    def answers(self) -> bool:
        """Return True if a ZooKeeper serves on its port."""
        return "Zookeeper version" in four_letters(HOST, self.port, "srvr")

    def runs(self, programs: Callable[[str], str | None] = shutil.which) -> bool:
        """Return True if it was started and has not ended, whether or not it answers yet."""
        ways = [Way(kind, program) for kind in IMAGES if (program := programs(kind))]
        return bool(self.pids()) or any(self._is_running(way) for way in ways)

    def stop(self, programs: Callable[[str], str | None] = shutil.which) -> bool:
        """End it in good order; return False when it did not run. Its data stay.

        :raises StoreError: it is a container, and that cannot be looked for.
        """
        ended = self._end_java()
        for way in self._containers(programs):
            if self._is_running(way):
                ended = _call(way, "stop", self.name).returncode == 0 or ended
        return ended

    def _containers(self, programs: Callable[[str], str | None]) -> list[Way]:
        """Return the ways whose container is there.

        :raises StoreError: the way by which it was started does not say whether it is.
        """
        found, noted = [], self.started_as()
        for kind in IMAGES:
            if not (program := programs(kind)):
                if kind == noted:
                    raise StoreError(
                        f"the container {self.name} of {kind} cannot be looked for: this machine has no {kind}"
                    )
                continue
            way = Way(kind, program)
            asked = _call(way, "ps", "--all", "--quiet", "--filter", f"name=^{self.name}$")
            if asked.returncode != 0 and kind == noted:
                raise StoreError(f"the container {self.name} of {kind} cannot be looked for: {_told(way, asked)}")
            if asked.returncode == 0 and asked.stdout.strip():
                found.append(way)
        return found

    def _is_running(self, way: Way) -> bool:
        said = _call(way, "inspect", "--format", "{{.State.Running}}", self.name)
        return said.returncode == 0 and said.stdout.strip() == "true"

    def _end_java(self) -> bool:
        pids = self.pids()
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in self.pids():
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    continue
            end = self._clock() + STOP_SECONDS
            while self.pids() and self._clock() < end:
                self._sleep(PAUSE)
        return bool(pids)

    def remove(self, programs: Callable[[str], str | None] = shutil.which) -> None:
        """End it and remove its data.

        :raises StoreError: it is a container that cannot be removed.
        """
        self.stop(programs)
        for way in self._containers(programs):
            if (ran := _call(way, "rm", "--force", "--volumes", self.name)).returncode != 0:
                raise StoreError(f"the container {self.name} of {way.kind} is not removed: {_told(way, ran)}")
        shutil.rmtree(self.folder, ignore_errors=True)


def _words(pid: int) -> list[str]:
    try:
        found = proc.process(pid)
        return proc.arguments(pid) if found is not None and not found.ended else []
    except OSError:
        return []


def _call(way: Way, *words: str, seconds: float = CALL_SECONDS) -> subprocess.CompletedProcess[str]:
    command = [way.program, *words]
    try:
        # pylint: disable-next=ansible-bad-function  # run_command knows no time-out and ends no process group
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return subprocess.CompletedProcess(command, 1, "", str(problem))
