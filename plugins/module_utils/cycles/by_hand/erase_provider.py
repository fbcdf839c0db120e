# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Erases the records of a provider that has left the configuration from ZooKeeper. No cloud is called."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.store import Store
from ...model.config.types import NodepoolConfig
from ...model.errors import PartlyFailed
from ...model.own_tree import PROVIDERS
from ...model.resources import INSTANCES
from ...sweeping.provider_records import (
    FOLDERS,
    ProviderRecords,
    left_of,
    own_documents,
    reasons_of,
)
from ..frame.config_warnings import config_warnings
from ..frame.cycle_options import ConfigOptions


def erase_provider(options: ConfigOptions, name: str, *, force: bool, check: bool) -> dict[str, Any]:
    """Delete the provider's node records, its uploads of every build, and our own documents about it.

    :param force: delete also if something of the provider is still in use.
    :raises PartlyFailed: something of the provider is still in use; nothing was deleted.
    """
    config = options.load()
    with closing(Store(config.zookeeper)) as store:
        store.open(watch=not check)
        return _erase(store, config, name, force=force, check=check)


def _erase(store: Store, config: NodepoolConfig, name: str, *, force: bool, check: bool) -> dict[str, Any]:
    records = look_at_provider(store, config, name)
    left = left_of(records)
    reasons = reasons_of(left)
    documents = own_documents(records)
    erased = [
        *(f"{paths.NODES}/{node.id}" for node in records.nodes),
        *records.builds,
        *(paths.own(path) for path in documents),
    ]
    result: dict[str, Any] = {
        "changed": bool(erased),
        "left": left,
        "configured": _configured(config, name),
        "erased": erased,
        "diff": {"before": "".join(f"{path}\n" for path in erased), "after": "", "before_header": f"provider {name}"},
        "warnings": [
            *config_warnings(config, store),
            *(f"provider {name} is erased despite this: {reason}" for reason in reasons),
        ],
    }
    if reasons and not force:
        refused = {**result, "changed": False, "erased": []}
        del refused["diff"], refused["warnings"]
        raise PartlyFailed(
            f"provider {name} is not erased, because parts of it are left: {'; '.join(reasons)}. Run the"
            f" playbook drain_provider; or set force to erase the records anyway, which leaves everything in the cloud",
            refused,
        )
    if erased and not check:
        _delete(store, records, documents, force=force)
    return result


def _delete(store: Store, records: ProviderRecords, documents: list[str], *, force: bool) -> None:
    """Delete all records under the provider's lock, which keeps launchers away."""
    home = f"{PROVIDERS}/{records.name}"
    if store.own.lock(home) is None and not force:
        raise PartlyFailed(f"provider {records.name} is not erased: a launcher acts for it", {"changed": False})
    for node in records.nodes:
        store.nodes.delete(node.id)
    for path in records.builds:
        store.raw_images.delete(path)
    for path in (*(path for path in documents if path != home), home):
        store.own.delete(path)


def look_at_provider(store: Store, config: NodepoolConfig, name: str) -> ProviderRecords:
    """Return all records of the provider in ZooKeeper, from the cache."""
    pools = [pool for pool in store.components.pools() if pool.provider_name == name]
    hosts = {pool.hostname or pool.id for pool in pools}
    if not hosts and store.own.is_locked(f"{PROVIDERS}/{name}"):
        hosts = {"an unknown host"}
    documents = {
        f"{folder}/{child}": store.own.get(f"{folder}/{child}") or {}
        for folder in FOLDERS
        for child in store.own.children(folder)
    }
    return ProviderRecords(
        name,
        configured=config.path if name in config.providers else "",
        launchers=hosts,
        pool_ids={pool.id for pool in pools},
        nodes=[node for node in store.nodes.list() if node.provider == name],
        uploads=[upload for image in store.images.names() for upload in store.images.uploads(image, name)],
        builds=store.raw_images.directories_of(name),
        documents=documents,
    )


def _configured(config: NodepoolConfig, name: str) -> dict[str, Any] | None:
    """Return the provider's pools and diskimages that the configuration still uses; None if it lacks the provider."""
    provider = config.providers.get(name)
    if provider is None:
        return None
    serving = [pool.name for pool in provider.pools.values() if pool.limits[INSTANCES] > 0]
    return {"file": config.path, "pools": serving, "diskimages": list(provider.diskimages)}
