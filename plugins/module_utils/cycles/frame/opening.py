# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a cycle begins: the configuration is read, then statsd and ZooKeeper are opened."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from ...clients.statsd import Statsd
from ...clients.zookeeper.store import Store
from ...model.config.types import NodepoolConfig
from .api_metrics import calls_to
from .config_watch import ConfigWatch
from .handover import Handover
from .options import CycleOptions
from .zookeeper_absence import ZooKeeperAbsence

Options = TypeVar("Options", bound=CycleOptions)


@dataclass(frozen=True)
class Opened(Generic[Options]):
    """What a cycle works with.

    :ivar options: the cycle's options; the clients that they make tell statsd of their calls.
    :ivar watch: notices what is written into the configuration's files after *config* was read.
    """

    options: Options
    config: NodepoolConfig
    watch: ConfigWatch
    store: Store
    sink: Statsd


@contextmanager
def opened(options: Options, say: Callable[[str], None]) -> Iterator[Opened[Options]]:
    """Open all that a cycle works with, and free what dead cycles of this host had locked.

    The store is closed before the note of its session is removed, and statsd last: it hears of the end, too.

    :param say: takes lines for people.
    :raises NodepoolError: the configuration cannot be used, or ZooKeeper cannot be reached.
    """
    watch = ConfigWatch(options, say)
    config = watch.known = options.load()
    settings = config.zookeeper
    with (
        Statsd.of_environment(os.environ) as sink,
        Handover(options.state_dir, settings, say=say) as handover,
        Store(settings) as store,
    ):
        if sink.problem is not None:
            say(sink.problem)
        store.on_change(ZooKeeperAbsence(store, settings, say).changed)
        handover.begin(store)
        yield Opened(replace(options, told=calls_to(sink)), config, watch, store, sink)
