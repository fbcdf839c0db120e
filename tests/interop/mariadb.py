# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A private MariaDB on a free loopback port: Zuul's scheduler does not start without a database."""

from __future__ import annotations

import getpass
import os
import secrets
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.interop.environments import CannotInstall
from tests.interop.stock import Daemon
from tests.support.zookeeper_server import HOST, free_port

INSTALL_SECONDS = 120.0
START_SECONDS = 120.0
PLACES = "/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin"
SERVER, INSTALLER = "mariadbd", "mariadb-install-db"


def program(name: str, package: str) -> str:
    """The path of a program.

    :raises CannotInstall: it is not there; the text names its Debian package.
    """
    found = shutil.which(name, path=PLACES)
    if found is None:
        raise CannotInstall(f"{name} of the Debian package {package} is missing: tools/setup interop installs it")
    return found


class MariaDB:
    """A server with an empty database.

    :param folder: where its files go.
    """

    def __init__(self, folder: Path, name: str = "zuul") -> None:
        self._folder = folder / "mariadb"
        self._name = name
        self._port = free_port()
        self._password = secrets.token_hex(16)
        words = ["--bind-address", HOST, "--port", str(self._port), "--socket", str(self._folder / "socket")]
        self._daemon = Daemon(self._words(SERVER, *words), dict(os.environ), folder / "mariadb.log")

    @property
    def uri(self) -> str:
        """The database, as SQLAlchemy names it."""
        return f"mysql+pymysql://{self._name}:{self._password}@{HOST}:{self._port}/{self._name}"

    def __enter__(self) -> Self:
        self._folder.mkdir()
        self._run(INSTALLER, "--auth-root-authentication-method=normal", "--skip-test-db")
        account = f"'{self._name}'@'{HOST}'"
        self._run(
            SERVER,
            "--bootstrap",
            text=f"FLUSH PRIVILEGES;\nCREATE DATABASE {self._name} CHARACTER SET utf8mb4;\n"
            f"CREATE USER {account} IDENTIFIED BY '{self._password}';\n"
            f"GRANT ALL ON {self._name}.* TO {account};\n",
        )
        self._daemon.start()
        self._daemon.await_said("ready for connections", START_SECONDS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._daemon.kill()

    def _words(self, name: str, *words: str) -> list[str]:
        path = program(name, "mariadb-server-core")
        return [path, "--no-defaults", f"--user={getpass.getuser()}", f"--datadir={self._folder}/data", *words]

    def _run(self, name: str, *words: str, text: str = "") -> None:
        done = subprocess.run(
            self._words(name, *words), input=text, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
        said = f"{done.stdout}{done.stderr}".strip()
        assert done.returncode == 0, f"{name} ended with {done.returncode}: {said[-1500:]}"
