# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An event source for ansible-rulebook: what happens in a tree of Nodepool."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from pathlib import Path
from typing import Any

DOCUMENTATION = r"""
short_description: Events of launchers, builders, requests, providers and leases
description:
  - Reads the tree as C(nodepool_status) does, by one read-only session with ZooKeeper that follows a watch. It changes
    nothing there, and calls no cloud.
  - >-
    Each event has C(type), C(severity), C(at) (UTC), C(subject), C(text) (a sentence), and fields such as C(provider),
    C(pool), C(request), C(labels), C(owner) (who is responsible) and C(reason). Fields without a value are missing.
  - >-
    What lasts has an event for its beginning and one for its end: C(provider_in_trouble) and C(provider_well),
    C(provider_unserved) and C(provider_served), C(resource_frozen) and C(resource_thawed), C(quota_low) and
    C(quota_ok), C(leak_found) and C(leak_gone), C(deletion_stuck) and C(deletion_done),
    C(zookeeper_lost) and C(zookeeper_back), C(configuration_unused) and C(configuration_used).
  - >-
    Once come C(request_waits), C(request_failed), C(build_failed), C(upload_failed), C(build_rejected), C(build_held),
    C(build_live), C(launcher_serves), C(configuration_read) and C(lease_ends_soon).
options:
  config:
    description: Path of C(nodepool.yaml).
    type: str
    default: /etc/nodepool/nodepool.yaml
    aliases: [nodepool_config]
  secure_config:
    description: Path of C(secure.conf).
    type: str
    aliases: [nodepool_secure_config]
  settings:
    description: Path of C(nodepool-settings.yaml), if it is not beside C(nodepool.yaml).
    type: str
    aliases: [nodepool_settings]
  types:
    description: Only events of these types. Empty means all.
    type: list
    elements: str
    default: []
  providers:
    description: Only events of these providers, and those that name none. Empty means all.
    type: list
    elements: str
    default: []
  wait_seconds:
    description: A request that has waited for so long is C(request_waits).
    type: float
    default: 300
  lease_seconds:
    description: A lease that ends within so many seconds is C(lease_ends_soon).
    type: float
    default: 900
  quota_left:
    description: C(quota_low) means that at most this share of a limit of the project is left.
    type: float
    default: 0.1
  leak_seconds:
    description: A leak that was first seen so long ago is C(leak_found); most are gone before that.
    type: float
    default: 600
  settle_seconds:
    description: What lasts is over when it has been over for so long. A freeze ends for a moment at each probe.
    type: float
    default: 60
  every:
    description: Seconds between two looks while something changes. They cost ZooKeeper nothing.
    type: float
    default: 5
  state_file:
    description:
      - A file that remembers what was told, so that a restart neither repeats nor leaves out anything. Its folder must
        be there.
      - Without it, a restart tells again what lasts, and does not tell what has failed before.
    type: str
  journal:
    description:
      - A file that gets each event as a line of JSON. At 20 MiB it becomes a file with C(.1) at the end of the name.
      - While it cannot be written, for example because the disk is full, up to 1000 events wait for it.
    type: str
  webhook:
    description:
      - An address that gets each event by POST as JSON. While it is away, up to 1000 events wait, each for an hour.
    type: str
  webhook_token:
    description: Sent to it as a Bearer token.
    type: str
"""

EXAMPLES = r"""
- stackci.nodepool.nodepool:
    config: /etc/nodepool/nodepool.yaml
    types: [request_failed, provider_in_trouble, provider_well]
    state_file: /var/lib/nodepool/events.json
"""

_LOG = logging.getLogger(__name__)
ROOT = Path(__file__).absolute().parents[7]


async def main(queue: asyncio.Queue[dict[str, Any]], args: dict[str, Any]) -> None:
    """Put the events into the queue until the task is cancelled."""
    if str(ROOT) not in sys.path:
        # ansible-rulebook runs this file by its path, and its Python does not know the collections.
        sys.path.append(str(ROOT))
    from ansible_collections.stackci.nodepool.plugins.plugin_utils.events.source import run

    loop, stop = asyncio.get_running_loop(), threading.Event()

    def tell(event: dict[str, Any]) -> None:
        # A rulebook that is behind slows this down, and nothing is lost.
        waiting = asyncio.run_coroutine_threadsafe(queue.put(event), loop)
        while not stop.is_set():
            try:
                waiting.result(1.0)
                return
            except TimeoutError:
                continue

    try:
        await asyncio.to_thread(run, args, tell, stop, _LOG.warning)
    finally:
        stop.set()


if __name__ == "__main__":
    # For a look without ansible-rulebook: python nodepool.py PATH_OF_NODEPOOL_YAML

    class Shown(asyncio.Queue[dict[str, Any]]):
        """A queue that prints."""

        async def put(self, item: dict[str, Any]) -> None:
            """Print an event."""
            print(item)

    asyncio.run(main(Shown(), {"config": sys.argv[1]}))
