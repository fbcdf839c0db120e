# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What in a provider's project leaked, what is foreign, and what is none of our business. Pure.

Ownership is never told by looks: ours is what carries our mark or Nodepool's metadata with the name of this provider,
or what a tombstone names. Whatever belongs to a node that is known and not idle is in use.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import (
    IMAGE_BUILD,
    IMAGE_UPLOAD,
    META_NODE_ID,
    META_PROVIDER,
    FloatingIp,
    Image,
    Port,
    Server,
    Volume,
    moment,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Upload, UploadState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch import (
    Launch,
    node_of_mark,
    read_description,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.tombstone import Graveyard
from ansible_collections.stackci.nodepool.plugins.module_utils.sweeping.thing import Kind, Standing, Thing

_Item: TypeAlias = "Server | Port | FloatingIp | Volume | Image"

_GONE = ("DELETED", "SOFT_DELETED")
_MARK_ALONE = "stackci_launch="


@dataclass(frozen=True)
class Seen:
    """What the cloud shows; None for what was not asked for. *servers* is needed for ports, volumes and records."""

    servers: Mapping[str, Server] | None = None
    ports: Collection[Port] | None = None
    floating_ips: Collection[FloatingIp] | None = None
    volumes: Collection[Volume] | None = None
    images: Collection[Image] | None = None


@dataclass(frozen=True)
class Known:
    """What ZooKeeper says, read after the cloud was.

    *nodes* of all providers by id, None for a record that cannot be read; *launch_ids*: nodes with a launch record.
    """

    provider: str
    nodes: Mapping[str, Node | None] = field(default_factory=dict)
    is_locked: Callable[[str], bool] = lambda node_id: False
    launch: Callable[[str], Launch | None] = lambda node_id: None
    launch_ids: Collection[str] = ()
    graveyard: Callable[[], Graveyard] = Graveyard
    uploads: Callable[[], Collection[Upload]] = tuple

    def idle(self, node_id: str) -> bool:
        """True for a node that nobody launches, uses, holds, leases or deletes."""
        node = self.nodes.get(node_id)
        if node is None or node.broken or node.provider != self.provider:
            return False
        return node.state == NodeState.READY and not self.is_locked(node_id)

    @property
    def server_ids(self) -> set[str]:
        """The servers of all known nodes."""
        return {str(node.external_id) for node in self.nodes.values() if node is not None and node.external_id}


def find(seen: Seen, known: Known) -> list[Thing]:
    """Everything that leaked or is foreign, of the kinds that were asked for."""
    return [thing for rule in RULES.values() for thing in rule(seen, known)]


def _leaked(kind: str, item: _Item, code: str, node_id: str | None = None, **figures: str) -> Thing:
    return Thing(
        kind, item.id, Standing.LEAKED, code, _name(item), figures, created=moment(item.created), node_id=node_id
    )


def _foreign(kind: str, item: _Item, code: str, **figures: str) -> Thing:
    return Thing(kind, item.id, Standing.FOREIGN, code, _name(item), figures, created=moment(item.created))


def _name(item: _Item) -> str:
    return item.address if isinstance(item, FloatingIp) else "" if isinstance(item, Port) else item.name


def _servers(seen: Seen, known: Known) -> Iterator[Thing]:
    for server in (seen.servers or {}).values():
        owner = server.metadata.get(META_PROVIDER)
        if server.status in _GONE:
            continue
        if owner is None:
            yield _foreign(Kind.SERVER, server, "unmarked")
        elif owner != known.provider:
            yield _foreign(Kind.SERVER, server, "other-provider", provider=owner)
        else:
            code, node_id = _server_leak(server, known)
            if code:
                yield _leaked(Kind.SERVER, server, code, node_id)


def _server_leak(server: Server, known: Known) -> tuple[str, str]:
    """Why a server of this provider leaked ("" when it did not), and the id of its node."""
    mark = server.launch_mark
    node_id = server.metadata.get(META_NODE_ID) or (node_of_mark(mark) if mark else "")
    if not node_id:
        return "", ""
    if node_id not in known.nodes:
        return "node-unknown", node_id
    node = known.nodes[node_id]
    if node is None or not known.idle(node_id) or node.external_id in (None, server.id) or mark is None:
        return "", node_id
    launch = known.launch(node_id)
    if launch is None or server.id == launch.server_id or mark == launch.mark:
        return "", node_id
    return "superseded", node_id


def _ports(seen: Seen, known: Known) -> Iterator[Thing]:
    if seen.ports is None or seen.servers is None:
        return
    in_use = known.server_ids
    for port in seen.ports:
        if port.server_id in in_use or _is_there(port.server_id, seen) or port.status != "DOWN":
            continue
        node_id = known.graveyard().servers.get(port.server_id)
        if node_id is not None:
            yield _leaked(Kind.PORT, port, "server-gone", node_id, server=port.server_id)
        elif not port.device_owner or port.device_owner.startswith("compute:"):
            yield _foreign(Kind.PORT, port, "unproven")


def _floating_ips(seen: Seen, known: Known) -> Iterator[Thing]:
    for floating in seen.floating_ips or ():
        if floating.port_id:
            continue
        owner, node_id = _floating_owner(floating, known)
        if not owner:
            yield _foreign(Kind.FLOATING_IP, floating, "unmarked")
        elif owner != known.provider:
            yield _foreign(Kind.FLOATING_IP, floating, "other-provider", provider=owner)
        else:
            code = _floating_leak(floating, node_id, known)
            if code:
                yield _leaked(Kind.FLOATING_IP, floating, code, node_id)


def _floating_owner(floating: FloatingIp, known: Known) -> tuple[str, str]:
    """(provider, node id); empty when nothing tells."""
    buried = known.graveyard().floating_ips.get(floating.id)
    if buried is not None:
        return known.provider, buried
    written = read_description(floating.description)
    if written is not None:
        return written[1], node_of_mark(written[0])
    if floating.description.startswith(_MARK_ALONE):
        node_id = known.graveyard().marks.get(floating.description.removeprefix(_MARK_ALONE))
        if node_id is not None:
            return known.provider, node_id
    return "", ""


def _floating_leak(floating: FloatingIp, node_id: str, known: Known) -> str:
    if node_id not in known.nodes:
        return "node-unknown"
    node = known.nodes[node_id]
    if node is None or not known.idle(node_id) or floating.address in (node.public_ipv4, node.interface_ip):
        return ""
    launch = known.launch(node_id)
    return "not-attached" if launch is not None and launch.floating_ip_id != floating.id else ""


def _volumes(seen: Seen, known: Known) -> Iterator[Thing]:
    if seen.volumes is None or seen.servers is None:
        return
    in_use = known.server_ids
    attached = {volume_id for server in seen.servers.values() for volume_id in server.volume_ids}
    for volume in seen.volumes:
        holders = set(volume.server_ids)
        if volume.id in attached or holders & in_use or any(_is_there(holder, seen) for holder in holders):
            continue
        graves = known.graveyard()
        server_id = next((holder for holder in volume.server_ids if holder in graves.servers), "")
        node_id = graves.volumes.get(volume.id) or graves.servers.get(server_id)
        if node_id is None:
            if not holders and volume.status in ("available", "error", "error_deleting"):
                yield _foreign(Kind.VOLUME, volume, "unproven")
        elif node_id not in known.nodes:
            yield _leaked(Kind.VOLUME, volume, "server-gone", node_id, server=server_id or "?")


def _images(seen: Seen, known: Known) -> Iterator[Thing]:
    if not seen.images:
        return
    uploads = known.uploads()
    in_use = {upload.external_id for upload in uploads}
    by_number = {(upload.build_id, upload.path.rsplit("/", 1)[-1], upload.provider): upload for upload in uploads}
    for image in seen.images:
        build, number = image.properties.get(IMAGE_BUILD), image.properties.get(IMAGE_UPLOAD)
        owner = image.properties.get(META_PROVIDER)
        if build is None or image.id in in_use:
            continue
        upload = by_number.get((build, number or "", owner or ""))
        if owner is None or number is None:
            yield _foreign(Kind.IMAGE, image, "unproven")
        elif owner != known.provider:
            yield _foreign(Kind.IMAGE, image, "other-provider", provider=owner)
        elif upload is None:
            yield _leaked(Kind.IMAGE, image, "upload-unknown", upload=number, build=build)
        elif upload.external_id and upload.state != UploadState.UPLOADING:
            yield _leaked(Kind.IMAGE, image, "replaced", upload=number, build=build, image=upload.external_id)


def _launches(seen: Seen, known: Known) -> Iterator[Thing]:
    """Records of nodes that are gone: they are the evidence as long as something of the node is left."""
    if seen.servers is None:
        return
    marks = {server.launch_mark for server in seen.servers.values() if server.status not in _GONE}
    for node_id in known.launch_ids:
        launch = None if node_id in known.nodes else known.launch(node_id)
        if launch is None or launch.provider != known.provider:
            continue
        if _is_there(launch.server_id or "", seen) or marks & {launch.mark or None, *launch.superseded} - {None}:
            continue
        yield Thing(
            Kind.LAUNCH, node_id, Standing.LEAKED, "nothing-left", created=launch.since or None, node_id=node_id
        )


def _is_there(server_id: str, seen: Seen) -> bool:
    server = (seen.servers or {}).get(server_id)
    return server is not None and server.status not in _GONE


RULES: dict[str, Callable[[Seen, Known], Iterator[Thing]]] = {
    Kind.SERVER: _servers,
    Kind.PORT: _ports,
    Kind.FLOATING_IP: _floating_ips,
    Kind.VOLUME: _volumes,
    Kind.IMAGE: _images,
    Kind.LAUNCH: _launches,
}
"""How each kind of thing at a provider is judged."""
