# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A private ZooKeeper from Debian's package, for tests and the demo.

As a command: ``python -m tests.support.zookeeper_server --state-dir DIR`` runs until SIGTERM and writes
``DIR/ready.json`` with host, port and pid once it answers.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tests.support.zookeeper_certificates import Certificates

HOST = "127.0.0.1"
_JARS = Path("/usr/share/java")
_NETTY = ("buffer", "codec", "common", "handler", "resolver", "transport", "transport-native-unix-common")
_PR_SET_PDEATHSIG = 1
_BUILD = Path(__file__).resolve().parents[2] / ".build"


class ZooKeeperMissing(Exception):
    """The machine has no Java or no ZooKeeper."""


def class_path() -> str:
    """What the package's own scripts use: the jar, whose manifest names most of the rest.

    The manifest forgets a part of netty, which is needed for TLS.

    :raises ZooKeeperMissing: saying which package to install.
    """
    missing = []
    if shutil.which("java") is None:
        missing.append("default-jre-headless")
    if not (_JARS / "zookeeper.jar").exists():
        missing.append("zookeeper")
    if missing:
        raise ZooKeeperMissing(
            f"a private ZooKeeper needs the Debian packages {' and '.join(missing)}: "
            f"apt-get install --no-install-recommends {' '.join(missing)}"
        )
    jars = ["zookeeper", "slf4j-nop", *(f"netty-{part}" for part in _NETTY)]
    return ":".join(str(_JARS / f"{jar}.jar") for jar in jars)


def archive_path() -> Path:
    """Where the classes of Debian's ZooKeeper are kept for the next servers, as this Java has loaded them."""
    known = [Path(shutil.which("java") or "").resolve(), _JARS / "zookeeper.jar"]
    return _BUILD / f"zookeeper-{'-'.join(str(file.stat().st_mtime_ns) for file in known)}.jsa"


def free_port() -> int:
    """A loopback port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _end_with(parent: int) -> None:
    """In the child: die when the thread that started us does, whatever happens to it."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _is_stopped(task: Path) -> bool:
    try:
        return (task / "stat").read_text(errors="replace").rpartition(")")[2].split()[0] in "TX"
    except FileNotFoundError:
        return True


class ZooKeeperServer:
    """One server on a free loopback port with its own data.

    :param tick_ms: ZooKeeper's tick; sessions may be as short as two ticks.
    :param tls: serve TLS with client certificates on :attr:`tls_port` beside the plain :attr:`port`.
    :param accounts: names and passwords of SASL (DIGEST-MD5); None for a server without SASL.
    :param config: further lines of zoo.cfg.
    :param data_dir: kept after the end; a temporary one when None.
    :param jars: a folder with the jars of another ZooKeeper than Debian's.
    :param leaves_archive: when it is closed, leave an archive of its classes if there is none; servers that start with
        one need a third less CPU time for it.
    """

    main_class = "org.apache.zookeeper.server.ZooKeeperServerMain"

    def __init__(
        self,
        *,
        tick_ms: int = 500,
        tls: bool = False,
        accounts: Mapping[str, str] | None = None,
        config: Mapping[str, str] | None = None,
        port: int = 0,
        data_dir: Path | None = None,
        heap_mib: int = 128,
        start_timeout: float = 120.0,
        jars: Path | None = None,
        leaves_archive: bool = False,
    ) -> None:
        self._class_path = f"{jars}/*" if jars else class_path()
        self._archive = None if jars else archive_path()
        self._leaves_archive = leaves_archive and self._archive is not None and not self._archive.exists()
        self._temporary = tempfile.TemporaryDirectory(prefix="zookeeper-") if data_dir is None else None
        self.directory = data_dir or Path(self._temporary.name if self._temporary else "")
        self.tick_ms = tick_ms
        self.port = port or free_port()
        self.tls_port = free_port() if tls else None
        self.certificates = Certificates(self.directory / "tls") if tls else None
        self.accounts = accounts
        self._more = dict(config or {})
        self.started_in = 0.0
        self._began = 0.0
        self._heap_mib = heap_mib
        self._start_timeout = start_timeout
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def hosts(self) -> str:
        """``host:port`` of the plain port."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        """Process id of the running server."""
        if self._process is None:
            raise RuntimeError("this ZooKeeper is not running")
        return self._process.pid

    @property
    def running(self) -> bool:
        """True while the process lives."""
        return self._process is not None and self._process.poll() is None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self.close()

    def start(self) -> None:
        """Start and wait until it answers."""
        self.spawn()
        self.await_answers()

    def spawn(self) -> None:
        """Start the process, which ends with this thread."""
        self._began = time.monotonic()
        self.directory.mkdir(parents=True, exist_ok=True)
        parent = os.getpid()
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.directory,
                start_new_session=True,
                preexec_fn=lambda: _end_with(parent),
            )

    def await_answers(self) -> None:
        """Wait until it serves."""
        while not self.answers():
            if not self.running:
                raise RuntimeError(f"ZooKeeper ended at once:\n{self._log.read_text(errors='replace')[-2000:]}")
            if time.monotonic() - self._began > self._start_timeout:
                self.kill()
                raise RuntimeError(f"ZooKeeper did not answer within {self._start_timeout:g} s; see {self._log}")
            time.sleep(0.02)
        self.started_in = time.monotonic() - self._began

    @property
    def _log(self) -> Path:
        return self.directory / "server.log"

    def _command(self) -> list[str]:
        config = self.directory / "zoo.cfg"
        config.write_text(self._config(), encoding="utf-8")
        jaas = []
        if self.accounts is not None:
            users = "".join(f' user_{name}="{password}"' for name, password in self.accounts.items())
            login = "org.apache.zookeeper.server.auth.DigestLoginModule"
            (self.directory / "jaas.conf").write_text(f"Server {{ {login} required{users}; }};\n", encoding="utf-8")
            jaas = [f"-Djava.security.auth.login.config={self.directory / 'jaas.conf'}"]
        return [
            "java",
            f"-Xmx{self._heap_mib}m",
            *self._sharing(),
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Dzookeeper.forceSync=no",
            # The thread that waits for the connections reads and writes them itself: a tenth less CPU time.
            "-Dzookeeper.nio.numWorkerThreads=0",
            "-Dzookeeper.admin.enableServer=false",
            "-Dzookeeper.4lw.commands.whitelist=*",
            "-Dzookeeper.jmx.log4j.disable=true",
            "-Dzookeeper.extendedTypesEnabled=true",
            *jaas,
            "-cp",
            self._class_path,
            self.main_class,
            str(config),
        ]

    @property
    def _new_archive(self) -> Path:
        return self.directory / "classes.jsa"

    def _sharing(self) -> list[str]:
        """Java's options; it goes on without an archive that does not fit."""
        if self._leaves_archive:
            return ["-Xshare:auto", f"-XX:ArchiveClassesAtExit={self._new_archive}"]
        if self._archive is not None and self._archive.exists():
            return ["-Xshare:auto", f"-XX:SharedArchiveFile={self._archive}"]
        return ["-Xshare:auto"]

    def _config(self) -> str:
        lines = {
            "tickTime": self.tick_ms,
            "minSessionTimeout": self.tick_ms * 2,
            "maxSessionTimeout": max(3_600_000, self.tick_ms * 20),
            "dataDir": self.directory / "data",
            "clientPort": self.port,
            "clientPortAddress": HOST,
            "maxClientCnxns": 0,
            "snapCount": 100000,
            "preAllocSize": 4096,
        }
        if self.certificates is not None:
            lines |= {
                "secureClientPort": self.tls_port,
                "secureClientPortAddress": HOST,
                "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
                "authProvider.x509": "org.apache.zookeeper.server.auth.X509AuthenticationProvider",
                "ssl.keyStore.location": self.certificates.server_pair,
                "ssl.keyStore.type": "PEM",
                "ssl.trustStore.location": self.certificates.ca,
                "ssl.trustStore.type": "PEM",
                "ssl.clientAuth": "need",
            }
        if self.accounts is not None:
            lines["authProvider.sasl"] = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"
        lines |= self._more
        return "".join(f"{key}={value}\n" for key, value in lines.items())

    def command(self, word: str, timeout: float = 2.0) -> str:
        """The answer to a four-letter word."""
        with socket.create_connection((HOST, self.port), timeout) as connection:
            connection.sendall(word.encode("ascii"))
            answer = b""
            while chunk := connection.recv(65536):
                answer += chunk
        return answer.decode("utf-8", "replace")

    def counts(self) -> tuple[int, int]:
        """(writes, reads) that were answered to everybody so far."""
        lines = (line.split("\t") for line in self.command("mntr").splitlines() if "\t" in line)
        known = {parts[0]: parts[1] for parts in lines}
        return int(float(known["zk_cnt_updatelatency"])), int(float(known["zk_cnt_readlatency"]))

    def answers(self) -> bool:
        """True when it serves (and, with TLS, listens there too)."""
        try:
            if self.command("ruok") != "imok" or "not currently serving" in self.command("srvr"):
                return False
            if self.tls_port is not None:
                socket.create_connection((HOST, self.tls_port), 2.0).close()
        except OSError:
            return False
        return True

    def pause(self) -> None:
        """SIGSTOP: connections stay open and nothing is answered. Returns when every thread has stopped."""
        os.kill(self.pid, signal.SIGSTOP)
        limit = time.monotonic() + 5.0
        while not all(_is_stopped(task) for task in Path(f"/proc/{self.pid}/task").iterdir()):
            if time.monotonic() > limit:
                raise RuntimeError("ZooKeeper does not stop")
            time.sleep(0.001)

    def resume(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    def stop(self) -> None:
        """End it in an orderly way; data and port are kept for :meth:`start`."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL; data and port are kept for :meth:`start`."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Stop and start on the same port and data."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Kill it and remove its temporary directory."""
        if self._leaves_archive and self.running:
            self._leave_archive()
        self.kill()
        if self._temporary is not None:
            self._temporary.cleanup()

    def _leave_archive(self) -> None:
        self.stop()
        if self._archive is not None and self._new_archive.exists():
            self._archive.parent.mkdir(exist_ok=True)
            # First beside its place: the folders may be on different file systems, and others look for it.
            beside = self._archive.with_suffix(f".{os.getpid()}")
            shutil.copyfile(self._new_archive, beside)
            beside.replace(self._archive)

    def _end(self, signal_number: int) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGCONT)
            os.kill(process.pid, signal_number)
        try:
            process.wait(60.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(60.0)


def main(arguments: list[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="zookeeper_server", description="Run a private ZooKeeper until SIGTERM.")
    parser.add_argument("--state-dir", type=Path, required=True, help="where data, log and ready.json go")
    parser.add_argument("--port", type=int, default=0, help="loopback port; 0 takes a free one")
    parser.add_argument("--tick-ms", type=int, default=500)
    parser.add_argument("--tls", action="store_true", help="also serve TLS with client certificates")
    options = parser.parse_args(arguments)
    state_dir: Path = options.state_dir.resolve()
    ready = state_dir / "ready.json"
    ready.unlink(missing_ok=True)
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        server = ZooKeeperServer(tick_ms=options.tick_ms, tls=options.tls, port=options.port, data_dir=state_dir)
    except ZooKeeperMissing as problem:
        print(problem, file=sys.stderr)
        return 2
    with server:
        told = {"host": HOST, "port": server.port, "pid": os.getpid(), "server_pid": server.pid}
        if server.certificates is not None:
            told["tls_port"] = server.tls_port or 0
            told |= {
                "cert": str(server.certificates.client_cert),
                "key": str(server.certificates.client_key),
                "ca": str(server.certificates.ca),
            }
        temporary = ready.with_suffix(".new")
        temporary.write_text(json.dumps(told), encoding="utf-8")
        temporary.replace(ready)
        while signal.sigtimedwait(signals, 0.5) is None:
            if not server.running:
                print(f"ZooKeeper ended by itself; see {state_dir / 'server.log'}", file=sys.stderr)
                return 1
    ready.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
