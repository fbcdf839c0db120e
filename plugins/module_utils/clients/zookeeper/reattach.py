# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ends the session of a dead predecessor: everything that it had locked is free at once, not after its time-out."""

from __future__ import annotations

import threading

from ...model.config.types import ZooKeeperSettings
from . import connect_errors
from .client import (
    DEAD,
    UP,
    TreeClient,
    require_kazoo,
)


def end_session(settings: ZooKeeperSettings, identity: tuple[int, bytes], *, timeout: float = 3.0) -> bool:
    """Take the session with that id and password over, and close it.

    Only for the session of a process that is known to be gone.

    :param timeout: seconds for connecting, and again for closing.
    :return: True when the session is over, by us or because it had expired; False when ZooKeeper could not be asked.
    """
    require_kazoo()
    known = threading.Condition()
    links: list[str] = []

    def on_link(_client: TreeClient, link: str) -> None:
        with known:
            links.append(link)
            known.notify_all()

    client = TreeClient(
        connect_errors.connection_string(settings),
        tls=settings.tls,
        timeout=settings.timeout,
        attempt_timeout=max(0.5, timeout / (len(settings.servers) + 1)),
        on_link=on_link,
        on_event=lambda _kind, _path: None,
        identity=identity,
    )
    client.start_async()
    with known:
        known.wait_for(lambda: UP in links or DEAD in links, timeout)
        answered = UP in links or DEAD in links
    client.discard(wait=timeout)
    return answered
