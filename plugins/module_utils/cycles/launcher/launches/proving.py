# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Proves that a server which answers is a machine of its own before its node is handed over.

A server with the address of another node is refused. One that only has the host key of another node is refused as well,
until servers at several addresses have shown that key: then the image ships it. While such servers may still come, the
server waits a moment for them instead of being thrown away.
"""

from __future__ import annotations

from dataclasses import dataclass

from ....launching.server_identity import Clash, Face, explain, find_clash, fingerprint, plain_address
from ....model import owner
from ....model.cloud import Server
from ....model.launch import Phase
from ....model.lines import Trouble
from ..context.context import Context
from .launch_in_progress import LaunchesInProgress, LaunchInProgress

PATIENCE = 10.0
"""Seconds for which a server with the host key of another node waits for others of its image to show that key, too."""
ON_THE_WAY = frozenset({Phase.BOOTING, Phase.ADDRESSING, Phase.REACHING})


@dataclass(frozen=True)
class Refusal:
    """Why a server is not handed over, and whose fault that is.

    *soon*: other servers may show soon that it may be handed over after all.
    """

    text: str
    owner: str
    soon: bool = False


class Proving:
    """Compares new servers with the nodes of their provider."""

    def __init__(self, context: Context, in_progress: LaunchesInProgress) -> None:
        self._context = context
        self._in_progress = in_progress

    def refusal(self, ongoing: LaunchInProgress, host_keys: tuple[str, ...]) -> Refusal | None:
        """Return why the server must not be handed over; None when it is proved, which is noted for the next one."""
        new = _face(ongoing, host_keys)
        if new is None:
            return None
        clash = self._clash(ongoing, new)
        if clash is None:
            self._context.identities.claim(new)
            return None
        if clash.address:
            return Refusal(explain(new, clash), owner.NETWORK)
        for key in clash.keys:
            addresses = {new.address, *self._context.identities.addresses(new.provider, key)}
            if ongoing.actor.shared_keys.note(key, addresses):
                self._tell_shared(ongoing, new, clash, key)
        if all(key in ongoing.actor.shared_keys for key in clash.keys):
            return self.refusal(ongoing, host_keys)
        # Whether the image or the network is to blame, another server will show.
        return Refusal(explain(new, clash), owner.UNKNOWN, self._more_may_come(ongoing))

    def _clash(self, ongoing: LaunchInProgress, new: Face) -> Clash | None:
        near = self._context.identities.near(new)
        if not near:
            return None
        view = ongoing.actor.view
        mine = view.servers.get(new.server_id)

        def left(other: Face) -> bool:
            # Without the keys of both, a list that lacks the other server is not enough.
            missing = view.listed_from > 0 and other.server_id not in view.servers
            return missing and bool(new.keys) and bool(other.keys)

        def apart(other: Face) -> bool:
            networks = [_networks(server, new.address) for server in (mine, view.servers.get(other.server_id))]
            return all(networks) and not networks[0] & networks[1]

        own = mine is None or bool(_networks(mine, new.address))
        return find_clash(
            new, near, own_address=own, shared=ongoing.actor.shared_keys.__contains__, left=left, apart=apart
        )

    def _more_may_come(self, ongoing: LaunchInProgress) -> bool:
        """Return True while another server of the same image may answer soon."""
        return any(
            other is not ongoing
            and other.launch.phase in ON_THE_WAY
            and other.label.image_name == ongoing.label.image_name
            for other in self._in_progress.of(ongoing.actor)
        )

    def _tell_shared(self, ongoing: LaunchInProgress, new: Face, clash: Clash, key: str) -> None:
        text = (
            f"image {ongoing.label.image_name}: it contains host keys: nodes {clash.other.node_id}, {new.node_id} and "
            f"others answer with {fingerprint(key)}. Only their addresses distinguish them: remove"
            f" /etc/ssh/ssh_host_* from the image"
        )
        self._context.account.say(Trouble(text, **ongoing.subject))


def _face(ongoing: LaunchInProgress, host_keys: tuple[str, ...]) -> Face | None:
    node, launch = ongoing.node, ongoing.launch
    if not node.interface_ip or launch.server_id is None:
        return None
    address = plain_address(node.interface_ip)
    return Face(node.id, launch.provider, launch.server_id, address, node.connection_port, frozenset(host_keys))


def _networks(server: Server | None, address: str) -> set[str]:
    """Return the networks in which a server has the address, as far as nova's list tells it."""
    found = server.addresses if server is not None else ()
    return {item.network for item in found if plain_address(item.address) == address}
