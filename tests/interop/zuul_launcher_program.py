# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Zuul's own client of zuul-launcher, run by Zuul's Python, in the part of an executor; see :mod:`zuul_program`.

``python zuul_launcher_program.py HOSTS CERT KEY CA SYSTEM_ID``
"""

from __future__ import annotations

import sys
from configparser import ConfigParser
from typing import Any

# Without the driver Zuul cannot read the nodes.
import zuul.driver.openstack  # type: ignore[import-not-found]  # noqa: F401  # pylint: disable=unused-import
from kazoo.exceptions import NoNodeError  # type: ignore[import-not-found,unused-ignore]
from zuul import model
from zuul.launcher.client import LauncherClient  # type: ignore[import-not-found]
from zuul.lib.tracing import Tracing  # type: ignore[import-not-found]
from zuul.zk import ZooKeeperClient  # type: ignore[import-not-found]
from zuul_program import serve  # type: ignore[import-not-found]


class Program:
    """The commands."""

    def __init__(self, hosts: str, cert: str, key: str, ca: str, _system_id: str) -> None:
        Tracing(ConfigParser())
        self.client = ZooKeeperClient(hosts, timeout=10.0, tls_cert=cert, tls_key=key, tls_ca=ca)
        self.client.connect()
        self.launcher = LauncherClient(self.client, None)
        self.nodesets: dict[str, Any] = {}

    def labels(self) -> list[str]:
        """The labels of the nodes that there are."""
        return sorted({str(node["label"]) for node in self.nodes()})

    def requests(self) -> list[dict[str, Any]]:
        """The requests that there are, oldest first."""
        found = [self.launcher.getRequest(one) for one in self.launcher.getRequestIds()]
        there = sorted((one for one in found if one is not None), key=lambda one: float(one.request_time))
        return [
            {"id": one.uuid, "job": one.job_name, "labels": one.labels, "state": str(one.state), "nodes": one.nodes}
            for one in there
        ]

    def nodes(self) -> list[dict[str, Any]]:
        """The nodes that there are, as Zuul gives them to a job."""
        try:
            idents = self.client.client.get_children(f"{model.ProviderNode.ROOT}/{model.ProviderNode.NODES_PATH}")
        except NoNodeError:
            return []
        found = []
        for ident in idents:
            try:
                node = self.launcher.getProviderNode(ident)
            except NoNodeError:
                continue
            keys = ("interface_ip", "username", "connection_type", "connection_port", "python_path", "host_keys", "az")
            data = node.getNodeData()
            found.append(
                {
                    "id": ident,
                    "label": node.label,
                    "state": str(node.state),
                    "provider": node.provider,
                    "server": node.openstack_server_id,
                    **{key: data[key] for key in keys},
                }
            )
        return found

    def take(self, request: str) -> list[str]:
        """What an executor does first: lock the nodes, delete the request, put the nodes to use; their ids."""
        known = self.launcher.getRequest(request)
        nodeset = model.NodeSet()
        for number, label in enumerate(known.labels):
            nodeset.addNode(model.Node([f"node{number}"], label))
        nodes = list(known.nodes)
        self.launcher.acceptNodeset(known, nodeset)
        self.launcher.useNodeset(nodeset)
        self.nodesets[request] = nodeset
        return nodes

    def give_back(self, request: str) -> None:
        """The job is over."""
        self.launcher.returnNodeset(self.nodesets.pop(request))


if __name__ == "__main__":
    serve(Program(*sys.argv[1:]))
