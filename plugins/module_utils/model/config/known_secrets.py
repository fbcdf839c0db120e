# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The secrets that the configuration has: what a node may print of them is hidden. Pure."""

from __future__ import annotations

from ..redaction import named_secrets, secret_values
from .types import NodepoolConfig, Provider


def known_secrets(config: NodepoolConfig, provider: Provider | None) -> tuple[str, ...]:
    """Return the passwords of ZooKeeper's account, and secrets in the metadata and user data of a provider's labels and
    in the environment of builds."""
    auth = config.zookeeper.auth
    found = [] if auth is None else [auth.password, auth.former_password]
    for image in config.diskimages.values():
        found += secret_values(image.env_vars)
    for pool in provider.pools.values() if provider is not None else ():
        for label in pool.labels.values():
            found += secret_values(label.instance_properties)
            for line in (label.userdata or "").splitlines():
                found += named_secrets(line)
    return tuple(dict.fromkeys(found))
