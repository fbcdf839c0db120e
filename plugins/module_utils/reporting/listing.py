# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""List the servers of several clouds in parallel, within one deadline.

A cloud that fails or does not answer never delays the others; the caller decides what to do about it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar

from ..clients.openstack.cloud_client import CloudClient
from ..clients.zookeeper.link import paths
from ..clients.zookeeper.store import Store
from ..model.config.types import NodepoolConfig, Provider
from ..model.errors import CloudUnavailable, ConfigError
from ..model.lease import lease_of
from ..model.own_tree import SITE
from .node_access_rows import node_row, refusals, server_row

T = TypeVar("T")


@dataclass(frozen=True)
class CloudSource:
    """One listing: a project of a cloud, and the providers that use it.

    :param name: the name in messages and in the cache.
    :param provider: the settings for the login.
    :param providers: names of the providers whose servers are wanted; None for all.
    """

    name: str
    provider: Provider
    providers: frozenset[str] | None


def sources_of_config(config: NodepoolConfig, wanted: Collection[str] = ()) -> list[CloudSource]:
    """Return one source for each cloud and region, even when several providers share it.

    :param wanted: names of providers; empty for all.
    :raises ConfigError: when a wanted provider is not in the configuration.
    """
    unknown = sorted(set(wanted) - set(config.providers))
    if unknown:
        raise ConfigError(
            [f"{config.path} has no provider {', '.join(unknown)}: it has {', '.join(config.providers) or 'none'}"]
        )
    places: dict[tuple[str, str | None], list[Provider]] = {}
    for provider in config.providers.values():
        if not wanted or provider.name in wanted:
            places.setdefault((provider.cloud, provider.region_name), []).append(provider)
    return [
        CloudSource("/".join(filter(None, place)), users[0], frozenset(provider.name for provider in users))
        for place, users in places.items()
    ]


def sources_of_clouds(clouds: Sequence[str], wanted: Collection[str] = ()) -> list[CloudSource]:
    """Return one source for each of *clouds*, which are entries of clouds.yaml."""
    providers = frozenset(wanted) or None
    return [CloudSource(cloud, Provider(name=cloud, cloud=cloud), providers) for cloud in dict.fromkeys(clouds)]


def list_servers(source: CloudSource, clouds_config: str | None) -> dict[str, Any]:
    """Return the nodes of a source as ``rows``: servers with Nodepool's metadata, and only those of its providers."""
    client = CloudClient(source.provider, clouds_config=clouds_config)
    rows = [row for server in client.list_servers() if (row := server_row(server)) is not None]
    return {"rows": [row for row in rows if source.providers is None or row["provider"] in source.providers]}


def read_nodes(config: NodepoolConfig) -> dict[str, Any]:
    """Return all node records of the tree as ``rows``, and its id as ``tree``, "" without one. No watch is set."""
    with closing(Store(config.zookeeper)) as store:
        store.open(watch=False, roots=(paths.NODES,), locks=())
        rows = [
            {
                **node_row(node, config),
                "refused": refusals(node, config),
                "tenant": node.tenant_name,
                "requestor": node.requestor,
                "hold_job": node.hold_job,
                "comment": node.comment,
                "hostname": node.hostname,
                "lease": lease_of(node),
            }
            for node in store.nodes.list()
        ]
        return {"rows": rows, "tree": str((store.own.read(SITE) or {}).get("id") or "")}


def fetch_all(work: Mapping[str, Callable[[], T]], deadline: float) -> dict[str, T | Exception]:
    """Do all of *work* in parallel and return what each function returned or raised.

    A function that has not returned after *deadline* seconds is given up: its thread is left alone and its answer is an
    error.
    """
    answers: dict[str, T | Exception] = {}

    def run(name: str, fetch: Callable[[], T]) -> None:
        try:
            answers[name] = fetch()
        except Exception as error:
            answers[name] = error

    threads = {
        name: threading.Thread(target=run, args=(name, fetch), daemon=True, name=f"list {name}")
        for name, fetch in work.items()
    }
    end = time.monotonic() + deadline
    for thread in threads.values():
        thread.start()
    for thread in threads.values():
        thread.join(max(0.0, end - time.monotonic()))
    late = CloudUnavailable(f"there was no whole answer within {deadline:g} s (option deadline)")
    return {name: answers.get(name, late) for name in work}
