# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a quick start."""

from __future__ import annotations

import os
import re
from dataclasses import asdict, dataclass

from ...model.errors import ConfigError

DEFAULT_PORT = 2181
NODEPOOL_YAML = "nodepool.yaml"
ZOOKEEPER = "zookeeper"
_SERVER = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")


@dataclass(frozen=True, kw_only=True)
class QuickstartWish:
    """What somebody wants; "" leaves a choice to the rules.

    :ivar cloud: entry of clouds.yaml.
    :ivar folder: where everything is.
    :ivar zookeeper: servers as host:port/chroot, separated by commas; "" for a private one.
    :ivar zookeeper_home: folder of an unpacked ZooKeeper for the private one.
    :ivar zookeeper_way: java, podman or docker.
    """

    cloud: str
    folder: str
    region: str = ""
    clouds_config: str | None = None
    image: str = ""
    user: str = ""
    flavor: str = ""
    network: str = ""
    group: str = ""
    public_key: str = ""
    ssh_port: int = 22
    zookeeper: str = ""
    zookeeper_home: str = ""
    zookeeper_way: str = ""
    api_timeout: float = 30.0

    def choices(self) -> dict[str, object]:
        """Return the options on which the text of the configuration depends."""
        known = asdict(self)
        names = ("cloud", "region", "image", "user", "flavor", "network", "group", "public_key", "ssh_port", ZOOKEEPER)
        return {name: known[name] for name in names}

    def servers(self) -> tuple[tuple[tuple[str, int], ...], str]:
        """Return the named servers and their chroot.

        :raises ConfigError: the option cannot be read.
        """
        names, slash, chroot = self.zookeeper.partition("/")
        found = []
        for name in names.split(","):
            match = _SERVER.fullmatch(name.strip())
            port = int(match["port"] or DEFAULT_PORT) if match else 0
            if match is None or not 0 < port < 65536:
                raise ConfigError([f"zookeeper is {self.zookeeper!r}: give HOST:PORT, or HOST:PORT,HOST:PORT/CHROOT"])
            found.append((match["host"].strip("[]"), port))
        return tuple(found), f"{slash}{chroot}" if chroot else ""

    def at(self, name: str) -> str:
        """Return the path of a file in the folder."""
        return os.path.join(self.folder, name)
