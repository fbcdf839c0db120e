# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every cycle that stays opens first and closes last."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...clients.statsd import Statsd
from ...clients.zookeeper.store import Store
from ...model.config.types import ZooKeeperSettings
from .handover import Handover
from .zookeeper_absence import ZooKeeperAbsence


@contextmanager
def opened(
    settings: ZooKeeperSettings, state_dir: str | None, say: Callable[[str], None]
) -> Iterator[tuple[Store, Statsd]]:
    """The store, with what dead cycles of this host had locked freed, and where figures go.

    The store is closed before the word that is left of its session, and statsd last: it hears of the end, too.

    :param say: takes lines for people.
    :raises NodepoolError: ZooKeeper cannot be reached.
    """
    with (
        Statsd.of_environment(os.environ) as sink,
        Handover(state_dir, settings, say=say) as handover,
        Store(settings) as store,
    ):
        if sink.problem is not None:
            say(sink.problem)
        store.on_change(ZooKeeperAbsence(store, settings, say).changed)
        handover.begin(store)
        yield store, sink
