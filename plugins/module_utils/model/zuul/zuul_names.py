# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The names that Zuul 14.3 gives to its objects, and those that the parts of nodepool.yaml get there. No I/O.

The export of image data and the conversion of nodepool.yaml must use the same names: Zuul finds the uploads of an image
by them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote_plus

from ..config.types import Provider
from ..errors import ConfigError


@dataclass(frozen=True)
class ZuulProject:
    """Where Zuul reads the definitions of images and providers.

    :ivar project: canonical name of the project, with the host name of its connection.
    :ivar tenant: the tenant that shows the images as its own and may validate them.
    :ivar branch: the branch of the project that defines the images.
    """

    project: str
    tenant: str
    branch: str

    def canonical(self, name: str) -> str:
        """Return the canonical name of an image, label, flavor, section or provider of this project."""
        return f"{quote_plus(self.project)}/{quote_plus(name)}"


def zuul_connection(provider: Provider) -> str:
    """Return the name of the connection of a provider: that of its cloud in clouds.yaml."""
    return provider.cloud


def zuul_endpoint(provider: Provider) -> str:
    """Return the canonical name of the endpoint, which stands for a region of a cloud.

    A provider without a region has the text ``None`` in it, as Zuul's driver writes it.
    """
    connection = zuul_connection(provider)
    return f"{quote_plus(connection)}/{quote_plus(f'{connection}-{provider.region_name}')}"


def zuul_provider(provider: Provider, pool: str) -> str:
    """Return the name of Zuul's provider for a pool: that of Nodepool's provider if it has no other pool."""
    return provider.name if len(provider.pools) == 1 else f"{provider.name}-{pool}"


def zuul_providers(provider: Provider) -> list[str]:
    """Return the names of Zuul's providers for all pools of a provider."""
    return sorted(zuul_provider(provider, pool) for pool in provider.pools)


def require_different_names(providers: Iterable[Provider]) -> None:
    """Refuse pools that would be the same provider of Zuul, which reads none of the file's objects then.

    :raises ConfigError: it has all of them.
    """
    pools: dict[str, list[str]] = {}
    for provider in providers:
        for pool in provider.pools:
            pools.setdefault(zuul_provider(provider, pool), []).append(f"pool {pool} of provider {provider.name}")
    problems = [
        f"{' and '.join(same)} would both be the provider {name} of Zuul: rename one of the pools"
        for name, same in sorted(pools.items())
        if len(same) > 1
    ]
    if problems:
        raise ConfigError(problems)
