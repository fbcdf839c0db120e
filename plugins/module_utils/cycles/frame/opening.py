# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Begins a cycle: reads the configuration, then opens statsd and ZooKeeper."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from ...clients.statsd import Statsd
from ...clients.zookeeper.link import paths
from ...clients.zookeeper.store import Store
from ...model.config.types import NodepoolConfig
from ...model.lines import Trouble
from .api_metrics import calls_to
from .config_source import ConfigSource
from .config_watch import ConfigWatch
from .cycle_options import CycleOptions
from .handover import Handover
from .zookeeper_absence import ZooKeeperAbsence

Options = TypeVar("Options", bound=CycleOptions)


@dataclass(frozen=True)
class Opened(Generic[Options]):
    """The configuration and the connections of a cycle.

    :ivar options: the cycle's options; the clients that they make report their calls to statsd.
    :ivar watch: notices changes of the configuration files after *config* was read.
    """

    options: Options
    config: NodepoolConfig
    watch: ConfigWatch
    store: Store
    sink: Statsd


@contextmanager
def opened(
    options: Options, say: Callable[[str], None], *, roots: Collection[str] = paths.DOCUMENT_ROOTS
) -> Iterator[Opened[Options]]:
    """Open the connections of a cycle, and release the locks of dead cycles of this host.

    At the end, the store is closed before the note of its session is removed. statsd is closed last, as it also gets
    the metrics of the end.

    :param say: takes lines for the operator.
    :param roots: what of the tree is read and watched; the locks of nodes and requests go with them.
    :raises NodepoolError: the configuration cannot be used, or ZooKeeper cannot be reached.
    """
    source = ConfigSource(options, options.state_dir or "", say)
    watch = ConfigWatch(source, say)
    config = source.begin()
    watch.begin(config, source.problems)
    settings = config.zookeeper
    with (
        Statsd.of_environment(os.environ, lambda problem: say(Trouble(problem))) as sink,
        Handover(options.state_dir, settings, say=say) as handover,
        closing(Store(settings)) as store,
    ):
        store.open(roots=roots, locks=[each for each in paths.LOCKED if each in roots])
        if sink.problem is not None:
            say(Trouble(sink.problem))
        if store.protect():
            say(f"the access lists of {paths.OWN} in ZooKeeper were set, as zookeeper-auth says")
        store.on_change(ZooKeeperAbsence(store, settings, say).changed)
        if options.state_dir and set(roots) >= set(paths.DOCUMENT_ROOTS):
            store.keep_last_state(options.state_dir, say)
        handover.begin(store)
        yield Opened(replace(options, told=calls_to(sink)), config, watch, store, sink)
