# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests an image by hand: a node of it is requested, a playbook runs on it, and the node is given back."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...clients.playbook_run import PlaybookEnd
from ...clients.zookeeper.store import Store
from ...model.config.gate_settings import GateSettings
from ...model.config.types import NodepoolConfig
from ...model.errors import DeadlineExceeded, NodepoolError, UnknownName
from ...model.gate import BUILD, GATE_REQUESTOR, LOGS, GateRecord
from ...model.image import Upload, build_of_path
from ...model.node import Node
from ...model.request import NodeRequest, RequestState
from ..builder.uploads.gate_nodes import GateNodes, Refused, TakenNode
from ..builder.uploads.gate_playbook import playbook_for

PACE = 0.5
PRIORITY = 100
KIND = "by-hand"


class NotTested(NodepoolError):
    """The test could not be made: that says nothing about the image, and nobody should revoke a build for it."""


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What an operator wants to have tested.

    :ivar image: name of a diskimage or of a cloud-image.
    :ivar provider: where; None for the first provider with a label of the image.
    :ivar build_id: the build of the diskimage; None for the one in use.
    :ivar label: None for the first label that is made from the image.
    :ivar playbook, private_key, log: absolute paths; *private_key* None for Ansible's choice.
    :ivar timeout: seconds for the playbook. *wait*: seconds for the node.
    """

    image: str
    playbook: str
    log: str
    provider: str | None = None
    build_id: str | None = None
    label: str | None = None
    private_key: str | None = None
    timeout: int = 600
    wait: float = 1800.0


@dataclass(frozen=True)
class Tested:
    """The result: how the playbook ended, or why no node could be launched."""

    provider: str
    label: str
    node: str
    build_id: str
    end: PlaybookEnd


def choose(config: NodepoolConfig, wish: Wish) -> tuple[str, str]:
    """Return (provider, label) of the node.

    :raises UnknownName: no provider has a label that is made from the image.
    """
    found = next(_offers(config, wish), None)
    if found is None:
        where = f" at provider {wish.provider!r}" if wish.provider else ""
        what = f"label {wish.label!r}" if wish.label else "label"
        raise UnknownName(
            [f"image: no {what} is made from {wish.image!r}{where}: name an image that a pool has a label of"]
        )
    return found


def validate(
    store: Store,
    config: NodepoolConfig,
    wish: Wish,
    *,
    say: Callable[[str], None] = lambda line: None,
    wanted: Callable[[], bool] = lambda: True,
    clock: Callable[[], float] = time.time,
    steady: Callable[[], float] = time.monotonic,
    sleeper: Callable[[float], None] = time.sleep,
) -> Tested:
    """Get a node of the image, run the playbook on it, and give the node back.

    The request ends with this session, and so does the claim on the node.

    :param wanted: returns False when the test must end.
    :raises DeadlineExceeded: there was no node in time.
    :raises NotTested: the test could not be made.
    """
    provider, label = choose(config, wish)
    now = clock()
    if wish.build_id and wish.build_id not in _builds(store, wish.image, provider, now):
        there = ", ".join(_builds(store, wish.image, provider, now)) or "none"
        lack = f"provider {provider} has no build {wish.build_id!r} of {wish.image!r} that may be used"
        raise UnknownName([f"build_id: {lack}; it has {there}"])
    upload = Upload(image=wish.image, build_id=wish.build_id or "", provider=provider)
    nodes = GateNodes(store, upload, lambda record: None, clock)
    request = NodeRequest(
        node_types=[label], provider=provider, requestor=GATE_REQUESTOR, reuse=False, created_time=now
    )
    request.requestor_data = {BUILD: wish.build_id} if wish.build_id else None
    request.set_state(RequestState.REQUESTED, now)
    store.requests.create(request, priority=PRIORITY, ephemeral=True)
    say(f"request {request.id}: a node with label {label} at provider {provider}")
    try:
        found = _await(nodes, request.id, wish.wait, wanted, steady, sleeper)
    finally:
        store.requests.delete(request.id)
    if isinstance(found, Refused):
        if not found.tried:
            raise NotTested(f"no node: {found.reason}")
        return Tested(provider, label, "", wish.build_id or "", PlaybookEnd(False, f"no node: {found.reason}"))
    return _played(nodes, found, upload, wish, config, wanted, (provider, label))


def _played(
    nodes: GateNodes,
    taken: TakenNode,
    upload: Upload,
    wish: Wish,
    config: NodepoolConfig,
    wanted: Callable[[], bool],
    place: tuple[str, str],
) -> Tested:
    build = _build_of(taken.node)
    try:
        if wish.build_id and build != wish.build_id:
            raise NotTested(
                f"its launcher made node {taken.node.id} from build {build}: update the launcher of {place[0]}"
            )
        gate = GateSettings(wish.playbook, private_key=wish.private_key, timeout=wish.timeout)
        end = playbook_for(taken.node, KIND, upload, gate, config, wish.log).run(wanted)
        if end.ours:
            raise NotTested(f"the image could not be tested: {end.reason}")
        if not end.passed and not taken.held.valid:
            raise NotTested(
                f"the ZooKeeper session was lost during the test, and a launcher may have deleted node"
                f" {taken.node.id} then: test again; the playbook said: {end.reason}"
            )
        return Tested(*place, taken.node.id, build, end)
    finally:
        nodes.give_back(taken)


def _await(
    nodes: GateNodes,
    request_id: str,
    seconds: float,
    wanted: Callable[[], bool],
    steady: Callable[[], float],
    sleeper: Callable[[float], None],
) -> TakenNode | Refused:
    record = GateRecord("", "", request=request_id)
    end, why = steady() + seconds, ""
    while wanted() and steady() < end:
        found = nodes.taken(record)
        if found is None:
            raise NotTested(f"request {request_id} or its node was deleted before the test: test again")
        if isinstance(found, TakenNode | Refused):
            return found
        why = found.reason
        sleeper(PACE)
    raise DeadlineExceeded(f"request {request_id} got no node within {seconds:g} s" + (f": {why}" if why else ""))


def _builds(store: Store, image: str, provider: str, now: float) -> list[str]:
    """Return the ids of the builds of a diskimage from which nodes may be made at a provider, the newest first."""
    verdicts = store.verdicts.of_image(image)
    unused = {build for build, verdict in verdicts.items() if not verdict.is_used(now, provider)}
    return [upload.build_id for upload in store.images.ready_uploads(image, provider, unused=unused)]


def _build_of(node: Node) -> str:
    return (build_of_path(node.image_id) or ("", ""))[1]


def _offers(config: NodepoolConfig, wish: Wish) -> Iterator[tuple[str, str]]:
    for name, provider in config.providers.items():
        for pool in provider.pools.values() if wish.provider in (None, name) else ():
            for label in pool.labels.values():
                is_own = not label.is_canary and not label.channel
                if label.image_name == wish.image and is_own and wish.label in (None, label.name):
                    yield name, label.name


def log_of(config: NodepoolConfig, image: str, now: float) -> str:
    """Return the path of the log of a test by hand."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
    return os.path.join(config.build_log_dir, LOGS, f"{image}-by-hand-{stamp}.log")
