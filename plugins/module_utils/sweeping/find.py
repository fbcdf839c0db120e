# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what leaked and what is foreign in a provider's project. No I/O.

A name alone never proves ownership, nor does the provider's name, because another tree may use the same one. A thing
is ours when it carries the name of this provider and the id of this tree, or when a record or tombstone of this tree
names it. Things that the operator adopts (AdoptionRules) are treated as ours. Everything that belongs to a known node
that is not idle is in use.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from ..model.cloud import (
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
from ..model.image import (
    Upload,
    UploadState,
    is_unique,
)
from ..model.launch import (
    Launch,
    Written,
    node_of_mark,
    read_description,
)
from ..model.node import Node, NodeState
from ..model.tombstone import Tombstones
from .candidate import Kind, LeakCandidate, Ownership

_Item: TypeAlias = "Server | Port | FloatingIp | Volume | Image"

_GONE = ("DELETED", "SOFT_DELETED")
STRANGE = frozenset({"other-tree", "no-tree", "no-node"})
"""Codes of things that carry the provider's name although nothing proves that they belong to this tree."""
_MARK_ALONE = "stackci_launch="
IN_WORK = 3600.0
"""Seconds for which a volume may be seen while cinder deletes it: large ones take long, and another deletion is
refused."""


@dataclass(frozen=True)
class AdoptionRules:
    """The things that the operator adopts for this tree without proof. No cycle adopts anything by itself.

    *sites*: ids of trees that are gone. *unmarked*: adopt things that name the provider and no tree when they are at
    least this old, in seconds; None: never.
    """

    sites: Collection[str] = ()
    unmarked: float | None = None


@dataclass(frozen=True)
class Seen:
    """The cloud's listings; None for those not requested. Ports, volumes and launch records need *servers*."""

    servers: Mapping[str, Server] | None = None
    ports: Collection[Port] | None = None
    floating_ips: Collection[FloatingIp] | None = None
    volumes: Collection[Volume] | None = None
    images: Collection[Image] | None = None


@dataclass(frozen=True)
class Known:
    """The records in ZooKeeper, read after the cloud.

    *nodes*: of all providers, by id, None for a record that cannot be read. *launch_ids*: ids of nodes with a launch
    record. *site*: the id of the tree. *claims*: what the operator adopts.
    """

    provider: str
    nodes: Mapping[str, Node | None] = field(default_factory=dict)
    is_locked: Callable[[str], bool] = lambda node_id: False
    launch: Callable[[str], Launch | None] = lambda node_id: None
    launch_ids: Collection[str] = ()
    tombstones: Callable[[], Tombstones] = Tombstones
    uploads: Callable[[], Collection[Upload]] = tuple
    site: str = ""
    claims: AdoptionRules = AdoptionRules()

    def is_ours(self, site: str) -> bool:
        """True when *site* is the id of this tree."""
        return bool(site) and site == self.site

    def idle(self, node_id: str) -> bool:
        """True for a node that is ready and unlocked: not launched, used, held, leased or deleted."""
        node = self.nodes.get(node_id)
        if node is None or node.broken or node.provider != self.provider:
            return False
        return node.state == NodeState.READY and not self.is_locked(node_id)

    def launch_of(self, node_id: str) -> Launch | None:
        """Return the launch record of a node of this provider, or None."""
        launch = self.launch(node_id)
        return launch if launch is not None and launch.provider == self.provider else None

    @cached_property
    def server_ids(self) -> set[str]:
        """The ids of the servers of all known nodes."""
        return {str(node.external_id) for node in self.nodes.values() if node is not None and node.external_id}


def find(seen: Seen, known: Known) -> list[LeakCandidate]:
    """Return everything that leaked or is foreign, of the kinds that were requested."""
    return [candidate for rule in RULES.values() for candidate in rule(seen, known)]


def _leaked(kind: str, item: _Item, code: str, node_id: str | None = None, **figures: str) -> LeakCandidate:
    return LeakCandidate(
        kind, item.id, Ownership.LEAKED, code, _name(item), figures, created=moment(item.created), node_id=node_id
    )


def _foreign(kind: str, item: _Item, code: str, **figures: str) -> LeakCandidate:
    return LeakCandidate(kind, item.id, Ownership.FOREIGN, code, _name(item), figures, created=moment(item.created))


def _strange(
    kind: str, item: _Item, site: str, known: Known, *, excepted: bool, node_id: str | None = None
) -> LeakCandidate:
    """Judge a thing that names this provider, but another tree or none: the operator may adopt it unless *excepted*.

    A thing that names another tree gets no node id: there the same number means another node.
    """
    claims = known.claims
    if site and not excepted and site in claims.sites:
        return _leaked(kind, item, "tree-adopted", site=site)
    if not site and not excepted and claims.unmarked is not None:
        return replace(_leaked(kind, item, "unmarked-adopted", node_id), min_age=claims.unmarked)
    return _foreign(kind, item, "other-tree", site=site) if site else _foreign(kind, item, "no-tree")


def _name(item: _Item) -> str:
    return item.address if isinstance(item, FloatingIp) else "" if isinstance(item, Port) else item.name


def _servers(seen: Seen, known: Known) -> Iterator[LeakCandidate]:
    for server in (seen.servers or {}).values():
        candidate = None if server.status in _GONE else _server(server, known)
        if candidate is not None:
            yield candidate


def _server(server: Server, known: Known) -> LeakCandidate | None:
    provider, mark = server.metadata.get(META_PROVIDER), server.launch_mark
    node_id = server.metadata.get(META_NODE_ID) or (node_of_mark(mark) if mark else "")
    if provider is None:
        return _foreign(Kind.SERVER, server, "unmarked")
    if provider != known.provider:
        return _foreign(Kind.SERVER, server, "other-provider", provider=provider)
    if not node_id:
        return _foreign(Kind.SERVER, server, "no-node")
    if known.is_ours(server.site) or _names_server(server, node_id, known):
        code = _server_leak(server, node_id, known)
        return _leaked(Kind.SERVER, server, code, node_id) if code else None
    if not server.site and _may_be_coming(server, node_id, known):
        return None
    excepted = server.id in known.server_ids or (not server.site and node_id in known.nodes)
    return _strange(Kind.SERVER, server, server.site, known, excepted=excepted, node_id=node_id)


def _may_be_coming(server: Server, node_id: str, known: Known) -> bool:
    """True when a node record may soon name the server: Nodepool's launcher writes the id only after the create.

    Our own creates need no such exception: the launch record holds their marks before the create is sent.
    """
    if node_id not in known.nodes or known.launch_of(node_id) is not None:
        return False
    node = known.nodes[node_id]
    return node is None or node.external_id in (None, "", server.id)


def _names_server(server: Server, node_id: str, known: Known) -> bool:
    """True when a record or tombstone of this tree names the server's id or its unique mark."""
    node, launch, mark = known.nodes.get(node_id), known.launch_of(node_id), server.launch_mark
    if node is not None and node.external_id == server.id:
        return True
    if launch is not None and (server.id == launch.server_id or mark in launch.marks):
        return True
    graves = known.tombstones()
    return server.id in graves.servers or (mark or "") in graves.marks


def _server_leak(server: Server, node_id: str, known: Known) -> str:
    """Return the code for why a server of this provider and tree leaked, "" when it did not."""
    mark = server.launch_mark
    if node_id not in known.nodes:
        return "node-unknown"
    node = known.nodes[node_id]
    if node is None or not known.idle(node_id) or node.external_id in (None, server.id) or mark is None:
        return ""
    launch = known.launch(node_id)
    if launch is None or server.id == launch.server_id or mark == launch.mark:
        return ""
    return "superseded"


def _ports(seen: Seen, known: Known) -> Iterator[LeakCandidate]:
    if seen.ports is None or seen.servers is None:
        return
    in_use = known.server_ids
    for port in seen.ports:
        if port.server_id in in_use or _is_there(port.server_id, seen) or port.status != "DOWN":
            continue
        node_id = known.tombstones().servers.get(port.server_id)
        if node_id is not None:
            yield _leaked(Kind.PORT, port, "server-gone", node_id, server=port.server_id)
        elif not port.device_owner or port.device_owner.startswith("compute:"):
            yield _foreign(Kind.PORT, port, "unproven")


def _floating_ips(seen: Seen, known: Known) -> Iterator[LeakCandidate]:
    for floating in seen.floating_ips or ():
        candidate = None if floating.port_id else _floating_ip(floating, known)
        if candidate is not None:
            yield candidate


def _floating_ip(floating: FloatingIp, known: Known) -> LeakCandidate | None:
    written = read_description(floating.description)
    node_id = _buried_address(floating, known)
    if node_id is None and written is None:
        return _foreign(Kind.FLOATING_IP, floating, "unmarked")
    if node_id is None and written is not None:
        if written.provider != known.provider:
            return _foreign(Kind.FLOATING_IP, floating, "other-provider", provider=written.provider)
        node_id = node_of_mark(written.mark)
        if not known.is_ours(written.site) and not _names_address(floating, written, node_id, known):
            in_use = any(node is not None and floating.address in _addresses(node) for node in known.nodes.values())
            excepted = in_use or (not written.site and node_id in known.nodes)
            return _strange(Kind.FLOATING_IP, floating, written.site, known, excepted=excepted, node_id=node_id)
    code = _floating_leak(floating, node_id or "", known)
    return _leaked(Kind.FLOATING_IP, floating, code, node_id) if code else None


def _buried_address(floating: FloatingIp, known: Known) -> str | None:
    """Return the node whose tombstone names the floating IP's id, or its mark when its description has only a mark."""
    graves = known.tombstones()
    if floating.id in graves.floating_ips:
        return graves.floating_ips[floating.id]
    if floating.description.startswith(_MARK_ALONE):
        return graves.marks.get(floating.description.removeprefix(_MARK_ALONE))
    return None


def _names_address(floating: FloatingIp, written: Written, node_id: str, known: Known) -> bool:
    """True when a record or tombstone of this tree names the floating IP's id or its unique mark."""
    launch = known.launch_of(node_id)
    if launch is not None and (floating.id == launch.floating_ip_id or written.mark in launch.marks):
        return True
    return written.mark in known.tombstones().marks


def _addresses(node: Node) -> tuple[str | None, ...]:
    return node.public_ipv4, node.interface_ip


def _floating_leak(floating: FloatingIp, node_id: str, known: Known) -> str:
    if node_id not in known.nodes:
        return "node-unknown"
    node = known.nodes[node_id]
    if node is None or not known.idle(node_id) or floating.address in _addresses(node):
        return ""
    launch = known.launch(node_id)
    return "not-attached" if launch is not None and launch.floating_ip_id != floating.id else ""


def _volumes(seen: Seen, known: Known) -> Iterator[LeakCandidate]:
    if seen.volumes is None or seen.servers is None:
        return
    in_use = known.server_ids
    attached = {volume_id for server in seen.servers.values() for volume_id in server.volume_ids}
    for volume in seen.volumes:
        holders = set(volume.server_ids)
        if volume.id in attached or holders & in_use or any(_is_there(holder, seen) for holder in holders):
            continue
        graves = known.tombstones()
        server_id = next((holder for holder in volume.server_ids if holder in graves.servers), "")
        node_id = graves.volumes.get(volume.id) or graves.servers.get(server_id)
        if node_id is None:
            if not holders and volume.status in ("available", "error", "error_deleting"):
                yield _foreign(Kind.VOLUME, volume, "unproven")
        elif node_id not in known.nodes:
            leak = _leaked(Kind.VOLUME, volume, "server-gone", node_id, server=server_id or "?")
            yield replace(leak, created=None, min_age=IN_WORK) if volume.status == "deleting" else leak


def _images(seen: Seen, known: Known) -> Iterator[LeakCandidate]:
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
        if image.is_snapshot:
            yield _foreign(Kind.IMAGE, image, "snapshot")
        elif owner is None or number is None:
            yield _foreign(Kind.IMAGE, image, "unproven")
        elif owner != known.provider:
            yield _foreign(Kind.IMAGE, image, "other-provider", provider=owner)
        else:
            candidate = _image(image, by_number.get((build, number, owner)), build, number, known)
            if candidate is not None:
                yield candidate


def _image(image: Image, upload: Upload | None, build: str, number: str, known: Known) -> LeakCandidate | None:
    """Judge an image of this provider that no upload record names; *upload*: the record with the image's numbers."""
    named = upload is not None and is_unique(build) and not image.site
    if not known.is_ours(image.site) and not named:
        return _strange(Kind.IMAGE, image, image.site, known, excepted=upload is not None)
    if upload is None:
        return _leaked(Kind.IMAGE, image, "upload-unknown", upload=number, build=build)
    if upload.external_id and upload.state != UploadState.UPLOADING:
        return _leaked(Kind.IMAGE, image, "replaced", upload=number, build=build, image=upload.external_id)
    return None


def _launches(seen: Seen, known: Known) -> Iterator[LeakCandidate]:
    """Yield launch records of nodes that are gone, once nothing of the node is left: until then they are evidence."""
    if seen.servers is None:
        return
    marks = {server.launch_mark for server in seen.servers.values() if server.status not in _GONE}
    for node_id in known.launch_ids:
        launch = None if node_id in known.nodes else known.launch(node_id)
        if launch is None or launch.provider != known.provider:
            continue
        if _is_there(launch.server_id or "", seen) or marks & {launch.mark or None, *launch.superseded} - {None}:
            continue
        yield LeakCandidate(
            Kind.LAUNCH, node_id, Ownership.LEAKED, "nothing-left", created=launch.since or None, node_id=node_id
        )


def _is_there(server_id: str, seen: Seen) -> bool:
    server = (seen.servers or {}).get(server_id)
    return server is not None and server.status not in _GONE


RULES: dict[str, Callable[[Seen, Known], Iterator[LeakCandidate]]] = {
    Kind.SERVER: _servers,
    Kind.PORT: _ports,
    Kind.FLOATING_IP: _floating_ips,
    Kind.VOLUME: _volumes,
    Kind.IMAGE: _images,
    Kind.LAUNCH: _launches,
}
"""Kind of thing at a provider → the function that judges it."""
