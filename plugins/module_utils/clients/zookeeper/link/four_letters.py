# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ZooKeeper's four-letter words, and what they tell when a port for TLS does not answer."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

from ....model.config.types import ZooKeeperSettings

PLAIN_PORT = 2181
"""ZooKeeper's own default of clientPort."""
MOST_ASKED = 3
SIGNS = ("Zookeeper version", "is not executed because it is not in the whitelist")
"""What a ZooKeeper answers to srvr, which by default is the only word that it answers."""


def four_letters(
    host: str, port: int, word: str, seconds: float = 2.0, clock: Callable[[], float] = time.monotonic
) -> str:
    """Return the answer to a four-letter word; "" when there is none.

    :param seconds: for which each part of the answer, and the whole of it, is waited for.
    """
    end = clock() + seconds
    try:
        with socket.create_connection((host, port), seconds) as connection:
            connection.settimeout(seconds)
            connection.sendall(word.encode("ascii"))
            answer = b""
            while len(answer) < 65536 and clock() < end and (piece := connection.recv(4096)):
                answer += piece
    except OSError:
        return ""
    return answer.decode("utf-8", "replace")


def plain_remark(settings: ZooKeeperSettings, ask: Callable[[str, int, str], str] = four_letters) -> str:
    """Return a sentence when zookeeper-tls is configured and one of the servers answers without TLS on port 2181.

    :param ask: takes host, port and word; returns the answer.
    """
    if settings.tls is None:
        return ""
    for server in settings.servers[:MOST_ASKED]:
        host = server.host.strip("[]")
        answer = ask(host, PLAIN_PORT, "srvr")
        if any(sign in answer for sign in SIGNS):
            return (
                f". A ZooKeeper without TLS answers on port {PLAIN_PORT} of {host}: if that is the one, set port:"
                f" {PLAIN_PORT} in zookeeper-servers and remove zookeeper-tls"
            )
    return ""
