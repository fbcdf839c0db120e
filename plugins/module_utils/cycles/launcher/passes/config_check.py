# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks a configuration: the files themselves, then each label against the offers of the clouds.

It does not connect to ZooKeeper, and calls the clouds with GET only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ....clients.openstack.cloud_client import CloudClient
from ....clients.openstack.remarks import is_about_rows
from ....launching.catalog import (
    Catalog,
    grouped,
    hidden,
    image_misses,
    image_remarks,
    misses,
    too_large,
)
from ....launching.resolver import choose_flavor, floating_problems, names_networks, resources_of
from ....launching.uploaded import uploads_by_diskimage
from ....model.cloud import Image, Network
from ....model.config.types import (
    NodepoolConfig,
    Pool,
    PoolLabel,
    Provider,
)
from ....model.errors import (
    CloudAuthError,
    CloudError,
    CloudRefused,
)
from ....model.resources import Limits
from ...frame.config_source import config_by_hand
from ...frame.cycle_options import ConfigOptions
from ...frame.provider_reach import (
    reach,
    reach_document,
    unreached,
)
from ..context.launcher_options import LauncherOptions
from ..provider.lacks import LIMITS, Lack, flavors_of

T = TypeVar("T")


@dataclass
class Looked:
    """The result of the check of one provider."""

    rows: list[tuple[str, str, str]]
    """Problems: (provider/pool, label, sentence)."""
    unchecked: list[str]
    """Sentences about facts that could not be read, and were therefore not checked."""
    remarks: list[tuple[str, str, str]]
    """What does not keep labels from being launched, in the form of *rows*."""
    odd: dict[str, str] = field(default_factory=dict)
    """What is odd about the cloud or its login although all calls succeed, by subject."""


def check_config(options: LauncherOptions, *, offline: bool = False) -> dict[str, Any]:
    """Return the problems of the configuration as a module's result.

    :raises ConfigError: with all problems of the files themselves.
    """
    config = config_by_hand(options, check=True)
    labels = sum(len(pool.labels) for provider in config.providers.values() for pool in provider.pools.values())
    result = {"changed": False, "labels": labels, "providers": {}, "unchecked": [], "unusable": []}
    result["warnings"] = list(config.warnings)
    return result if offline else result | _with_clouds(options, config)


@dataclass(frozen=True)
class CloudsLooked:
    """The result of the check of all providers. *problems*: provider → why it cannot be used, None if it can."""

    problems: dict[str, str | None]
    looked: dict[str, Looked]

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """The problems of labels: (provider/pool, label, sentence)."""
        return [row for name in sorted(self.looked) for row in self.looked[name].rows]

    @property
    def unchecked(self) -> list[str]:
        """Sentences about facts that could not be read, and were therefore not checked."""
        return [text for name in sorted(self.looked) for text in self.looked[name].unchecked]

    @property
    def remarks(self) -> list[str]:
        """Sentences about what does not keep labels from being launched."""
        names = sorted(self.looked)
        odd = [f"provider {name}: {text}" for name in names for text in self.looked[name].odd.values()]
        rows = [row for name in names for row in self.looked[name].remarks]
        return list(dict.fromkeys([*odd, *(f"{where}: label {label}: {text}" for where, label, text in rows)]))


def look_at_clouds(options: ConfigOptions, config: NodepoolConfig, providers: Iterable[str]) -> CloudsLooked:
    """Check every label of the *providers* against what their clouds offer, all clouds side by side."""
    problems: dict[str, str | None] = {}
    clients: dict[str, CloudClient] = {}
    for name in providers:
        try:
            clients[name] = options.client(config.providers[name])
        except CloudAuthError as error:
            problems[name] = str(error)
    seen: dict[str, Looked] = {}

    def look(client: CloudClient) -> None:
        seen[client.provider] = look_at(client, config, config.providers[client.provider])

    try:
        problems |= reach(clients, look)
    finally:
        for client in clients.values():
            client.close()
    return CloudsLooked(problems, seen)


def _with_clouds(options: LauncherOptions, config: NodepoolConfig) -> dict[str, Any]:
    found = look_at_clouds(options, config, options.chosen(config))
    providers = {name: reach_document(found.problems[name]) for name in sorted(found.problems)}
    return {
        "providers": providers,
        "unchecked": found.unchecked,
        "warnings": [*config.warnings, *found.remarks],
        "unusable": [*unreached(providers), *grouped(found.rows)],
    }


def look_at(client: CloudClient, config: NodepoolConfig, provider: Provider) -> Looked:
    """Check every label of a provider's pools.

    :raises CloudError: the cloud cannot be used.
    """
    looked = Looked([], [], [])
    pools = [pool for pool in provider.pools.values() if pool.max_servers > 0]
    labels = [(pool, label) for pool in pools for label in pool.labels.values()]
    images = _images(client, config, provider, labels)
    built = any(label.diskimage is not None for _pool, label in labels)
    own = _read(looked, client.list_own_images) if built else None
    zoned = any(pool.availability_zones for pool in pools)
    keyed = any(label.key_name is not None for _pool, label in labels)
    grouped_up = any(label.launches.server_group is not None for _pool, label in labels)
    guarded = any(pool.security_groups for pool in pools)
    catalog = Catalog(
        flavors=flavors_of(client),
        networks=_networks(looked, client, provider) if labels else None,
        zones=_read(looked, lambda: client.availability_zones(every=True)) if zoned else None,
        keypairs=_read(looked, client.list_keypairs) if keyed else None,
        security_groups=_read(looked, client.list_security_groups) if guarded else None,
        server_groups=_read(looked, client.list_server_groups) if grouped_up else None,
        images=images,
        uploads=uploads_by_diskimage(provider, own or ()),
        image_names=client.image_names() if [] in images.values() else None,
        bounds=_bounds(looked, client, pools),
    )
    odd = client.remarks()
    looked.odd = {subject: text for subject, text in odd.items() if not is_about_rows(subject)}
    for pool, label in labels:
        where = f"{provider.name}/{pool.name}"
        floating = list(floating_problems(pool, label, catalog.networks, client))
        unsure = {} if floating else hidden(pool, label, catalog, odd)
        looked.unchecked.extend(text for text in unsure.values() if text not in looked.unchecked)
        lacks = [] if unsure else misses(pool, label, catalog)
        for text in (*lacks, *_problems(config, provider, pool, label, catalog), *floating):
            looked.rows.append((where, label.name, text))
        for text in image_remarks(config.image_settings(provider, label), catalog):
            looked.remarks.append((where, label.name, text))
    return looked


def _networks(looked: Looked, client: CloudClient, provider: Provider) -> list[Network] | None:
    """Read the networks.

    :raises CloudAuthError: names of networks must be looked up, and the account cannot see them.
    """
    needed = names_networks(provider)
    try:
        return client.list_networks(needed=needed)
    except CloudError as error:
        if needed and isinstance(error, CloudAuthError):
            raise
        looked.unchecked.append(str(error))
        return None


def _bounds(looked: Looked, client: CloudClient, pools: Sequence[Pool]) -> Limits | None:
    """Read the limits. As in the launcher, pools do without them that have limits of their own, or ignore the cloud's.

    :raises CloudError: no pool does without them; the text has the remedy.
    """
    volumes = any(label.boot_from_volume for pool in pools for label in pool.labels.values())
    try:
        return client.limits(volumes=volumes, network=True).bounds
    except CloudError as error:
        need = [pool for pool in pools if not (pool.ignore_provider_quota or pool.limits.bound_servers)]
        text = Lack(LIMITS, error, 0.0).text(client.provider)
        if len(need) == len(pools):
            raise CloudError(text, provider=client.provider, call=error.call) from error
        looked.unchecked.append(text)
        looked.rows.extend((f"{client.provider}/{pool.name}", label, text) for pool in need for label in pool.labels)
        return None


def _read(looked: Looked, read: Callable[[], T]) -> T | None:
    """Read a fact that the cloud may refuse to show; note the refusal as not checked and return None."""
    try:
        return read()
    except CloudError as error:
        looked.unchecked.append(str(error))
        return None


def _images(
    client: CloudClient, config: NodepoolConfig, provider: Provider, labels: list[tuple[Pool, PoolLabel]]
) -> dict[str, list[Image]]:
    """Return the images found for each name or id of a cloud-image."""
    found: dict[str, list[Image]] = {}
    for _pool, label in labels:
        settings = config.image_settings(provider, label)
        wanted = settings.image_id or settings.image_name
        if settings.kind != "diskimage" and wanted is not None and wanted not in found:
            found[wanted] = client.images_named(wanted)
    return found


def _problems(
    config: NodepoolConfig, provider: Provider, pool: Pool, label: PoolLabel, catalog: Catalog
) -> Iterator[str]:
    yield from image_misses(config.image_settings(provider, label), catalog)
    try:
        flavor = choose_flavor(catalog.flavors or (), label.flavor_name, label.min_ram)
    except CloudRefused:
        return  # reported by misses()
    yield from too_large(resources_of(pool, label, flavor), pool, catalog.bounds, provider.name)
