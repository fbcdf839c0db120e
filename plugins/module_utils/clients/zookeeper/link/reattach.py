# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""End the session of a process that is gone: its locks are free at once, not only after the session's time-out."""

from __future__ import annotations

import threading

from ....model.config.types import ZooKeeperSettings
from . import connect_errors
from .tree_client import (
    DEAD,
    UP,
    TreeClient,
    require_kazoo,
)


def end_session(settings: ZooKeeperSettings, identity: tuple[int, bytes], *, timeout: float = 3.0) -> bool:
    """Connect to the session with that id and password, and close it.

    Only for the session of a process that is known to be gone.

    :param timeout: seconds for connecting, and again for closing.
    :return: True when this call ended the session, or it had expired; False when no server could be reached.
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
        auth=settings.auth,
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
