# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The endpoints /health (this process answers) and /ready (launchers and builders are working)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from ..clients.zookeeper.link import paths
from ..clients.zookeeper.tree_reading import TreeReading
from ..cycles.frame import heartbeat
from ..cycles.launcher.ownership.registry import REGISTER_EVERY
from ..model import own_tree
from ..model.component import ComponentKind, is_lasting
from ..model.config.types import NodepoolConfig
from ..model.documents import seconds, text, words
from ..model.lines import span
from ..reporting.info.providers import PROVIDERS
from .accept import JSON, TEXT, wants_json
from .libraries import Request, Response
from .picture import Contact, Snapshot
from .routing import Route

POOLS = f"{paths.OWN}/{own_tree.KNOWN_POOLS}"
BUILDERS = f"{paths.OWN}/{own_tree.BUILDER_NOTES}"
COUNTERS = f"{paths.OWN}/{own_tree.COUNTERS}"
HEARTBEATS = f"{paths.OWN}/{own_tree.HEARTBEATS}"
BUILDER_CYCLES = ("builds", "uploads")
SILENCE = 3 * heartbeat.EVERY
"""Seconds without a heartbeat after which a connected launcher counts as silent. Without a connection it has none."""
POOL_SILENCE = 2.5 * REGISTER_EVERY
"""The same for a launcher without heartbeats: seconds since it renewed the record of its pools."""
BUILDER_SILENCE = 10 * heartbeat.EVERY
"""The same for a connected builder, in seconds: the checksum of a large image takes minutes."""
BUILDER_PAUSE = 3600.0
"""Most seconds between two cycles of the builder. While a cycle runs, the builder is registered."""


@dataclass(frozen=True)
class Reason:
    """Why the service as a whole is not ready.

    :ivar code: ``zookeeper``, ``no-launcher``, ``launcher-silent``, ``no-builder`` or ``builder-silent``.
    :ivar subject: the provider concerned; empty when there is none.
    """

    code: str
    subject: str
    text: str


def reasons(config: NodepoolConfig, reading: TreeReading, contact: Contact, now: float) -> list[Reason]:
    """Return all reasons why the service is not ready, none when it is."""
    if not contact.connected:
        age = "was never reached" if contact.age is None else f"has not answered for {span(contact.age)}"
        return [Reason("zookeeper", "", f"ZooKeeper {age}: {contact.problem}")]
    return [*_launchers(config, reading, now), *_builders(config, reading, now)]


def _launchers(config: NodepoolConfig, reading: TreeReading, now: float) -> Iterator[Reason]:
    """Yield the reasons about launchers. A provider without pools needs none."""
    root = f"{paths.COMPONENTS}/{ComponentKind.POOL}"
    served = [pool.document for pool in reading.below(root) if not is_lasting(pool.document)]
    registered = {str(document.get("provider_name")) for document in served}
    for name in (provider.name for provider in config.providers.values() if provider.pools):
        stored = reading.one(f"{PROVIDERS}/{name}")
        if name not in registered:
            yield Reason("no-launcher", name, f"provider {name}: no launcher serves it")
        elif stored is not None and stored.locked and (silent := _silence(reading, name, now)) is not None:
            told = f"provider {name}: its launcher is connected, but has not worked for {span(silent)}"
            yield Reason("launcher-silent", name, told)


def _silence(reading: TreeReading, provider: str, now: float) -> float | None:
    """Return for how many seconds the launcher that acts for a provider has been silent; None when it is not."""
    beats = [
        found.written
        for found in reading.below(HEARTBEATS)
        if found.document.get("cycle") == "launcher" and provider in words(found.document.get("providers"))
    ]
    if beats:
        silent = now - max(beats)
        return silent if silent > SILENCE else None
    times = [
        seconds(pool.document.get("last_seen")) or 0.0
        for pool in reading.below(POOLS)
        if pool.document.get("provider_name") == provider
    ]
    silent = now - max(times, default=now)
    return silent if silent > POOL_SILENCE else None


def _builders(config: NodepoolConfig, reading: TreeReading, now: float) -> Iterator[Reason]:
    if not config.diskimages:
        return
    if reading.names(f"{paths.COMPONENTS}/{ComponentKind.BUILDER}"):
        yield from _silent_builders(reading, now)
        return
    begun = [seconds(note.document.get("seen")) or 0.0 for note in reading.below(BUILDERS)]
    ended = [found.written for found in reading.below(COUNTERS) if found.document.get("cycle") in BUILDER_CYCLES]
    newest = max((*begun, *ended), default=None)
    if newest is None:
        yield Reason("no-builder", "", "no builder has ever run, but the configuration has diskimages")
    elif now - newest > BUILDER_PAUSE:
        yield Reason("builder-silent", "", f"no builder has run for {span(now - newest)}")


def _silent_builders(reading: TreeReading, now: float) -> Iterator[Reason]:
    """Yield a reason for each kind of cycle of which none works. Nodepool's own builder writes no heartbeats."""
    beats: dict[str, list[float]] = {}
    for found in reading.below(HEARTBEATS):
        cycle = text(found.document.get("cycle")) or ""
        if cycle in BUILDER_CYCLES:
            beats.setdefault(cycle, []).append(found.written)
    for cycle, times in sorted(beats.items()):
        if (silent := now - max(times)) > BUILDER_SILENCE:
            told = f"the builder's cycle for {cycle} is connected, but has not worked for {span(silent)}"
            yield Reason("builder-silent", "", told)


def health(_snapshot: Snapshot, _request: Request) -> Response:
    """Answer OK: this process serves requests. Nothing else is checked."""
    return Response("OK\n", mimetype=TEXT)


def ready(snapshot: Snapshot, request: Request) -> Response:
    """Answer 200 when launchers and builders are working, else 503 with the reasons, as text or JSON."""
    found = reasons(snapshot.config, snapshot.reading, snapshot.contact, snapshot.now)
    if wants_json(request):
        body = json.dumps({"ready": not found, "reasons": [asdict(reason) for reason in found]})
        response = Response(body, mimetype=JSON)
    else:
        response = Response("\n".join(reason.text for reason in found) + "\n" if found else "OK", mimetype=TEXT)
    response.status_code = 503 if found else 200
    response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Cache-Control"] = "no-store"
    response.vary.add("Accept")
    return response


ROUTES = (Route("/health", health, needs_tree=False), Route("/ready", ready, needs_tree=False))
