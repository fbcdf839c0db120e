# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks whether ZooKeeper servers serve, plain and with TLS.

    python -m tests.molecule.zookeeper certificates DIR ADDRESS ...    make an authority and certificates
    python -m tests.molecule.zookeeper write TEXT HOST:PORT ...        write TEXT by way of the first that answers
    python -m tests.molecule.zookeeper read TEXT HOST:PORT ...         each of them must have TEXT, in the end
    python -m tests.molecule.zookeeper stranger HOST:PORT ...          none may serve a client without a certificate

``--tls DIR`` for ports with TLS, ``--account NAME:PASSWORD`` to log in by SASL (a stranger, too). Exit code 1 and a
sentence when it is not so within ``--seconds``.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from tests.support.zookeeper_certificates import Certificates

PATH = "/stackci-molecule"
TRY_SECONDS = 5.0
STRANGER_SECONDS = 6.0


def attempt(host: str, login: dict[str, Any], text: str | None) -> str:
    """Write *text*, or read what is there, through one server."""
    client = KazooClient(host, timeout=10.0, connection_retry={"max_tries": 0}, **login)
    try:
        client.start(TRY_SECONDS)
        if text is not None:
            client.ensure_path(PATH)
            client.set(PATH, text.encode())
            return text
        client.sync(PATH)
        return str(client.get(PATH)[0].decode())
    finally:
        client.stop()
        client.close()


def until_right(host: str, login: dict[str, Any], text: str, *, write: bool, limit: float) -> str | None:
    """Try until the server does it; return what is wrong in the end."""
    while True:
        try:
            found = attempt(host, login, text if write else None)
            problem = None if found == text else f"{host} has {found!r} and not {text!r}"
        except (KazooException, KazooTimeoutError) as error:
            problem = f"{host} does not serve: {error!r}"
        if problem is None or time.monotonic() > limit:
            return problem
        time.sleep(0.2)


def is_served(host: str, login: dict[str, Any]) -> bool:
    """True when a client gets an answer."""
    client = KazooClient(host, timeout=10.0, connection_retry={"max_tries": 0}, command_retry={"max_tries": 0}, **login)
    try:
        client.start(STRANGER_SECONDS)
        client.exists_async(PATH).get(timeout=STRANGER_SECONDS)
    except (KazooException, KazooTimeoutError):
        return False
    finally:
        client.stop()
        client.close()
    return True


def main() -> int:
    """One command."""
    parser = argparse.ArgumentParser(prog="python -m tests.molecule.zookeeper")
    parser.add_argument("--tls", type=Path)
    parser.add_argument("--account")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("command", choices=("certificates", "write", "read", "stranger"))
    parser.add_argument("words", nargs="+")
    options = parser.parse_args()
    words: list[str] = options.words
    if options.command == "certificates":
        Certificates(Path(words[0]), tuple(words[1:]))
        return 0
    login: dict[str, Any] = {}
    if options.account is not None:
        name, _colon, password = options.account.partition(":")
        login["sasl_options"] = {"mechanism": "DIGEST-MD5", "username": name, "password": password}
    if options.tls is not None:
        files = Certificates(options.tls)
        login |= {"use_ssl": True, "ca": str(files.ca)}
        if options.command != "stranger":
            login |= {"certfile": str(files.client_cert), "keyfile": str(files.client_key)}
    if options.command == "stranger":
        problems = [f"{host} serves such a client" for host in words if is_served(host, login)]
    else:
        limit = time.monotonic() + options.seconds
        write = options.command == "write"
        found = [
            until_right(host, login, words[0], write=write, limit=limit) for host in words[1 : 2 if write else None]
        ]
        problems = [problem for problem in found if problem is not None]
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
