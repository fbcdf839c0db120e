# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute the gauges of ``/metrics`` and the sums of all counters from one reading of the tree.

Other programs write the documents, so their content is limited here in length, kind and number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..clients.zookeeper.link import paths
from ..clients.zookeeper.tree_reading import TreeReading
from ..cycles.frame.counts import counters_of
from ..cycles.launcher.context.launcher_metrics import FAILED, READY, failure_label
from ..launching.machine import Failure
from ..model import own_tree, reasons
from ..model.config.types import NodepoolConfig
from ..model.counters import LAUNCHES, LEAKS_REMOVED, OTHER, Counters
from ..model.documents import mapping, seconds, text, words
from ..model.node import NodeState
from ..model.own_tree import COUNTERS, HEARTBEATS
from ..model.request import RequestState
from ..model.resources import CORES, FLOATING_IPS, INSTANCES, ORDER, PORTS, RAM, VOLUME_GB, VOLUMES
from ..model.stored import BadDocument
from ..sweeping.candidate import Kind
from . import metric_catalog as catalog
from .image_metrics import add_images
from .info.attention import RowsOf, attention
from .info.causes import CAUSES
from .info.fields import known_state
from .info.image_list import image_rows
from .info.labels import label_rows
from .info.providers import provider_rows
from .info.request_rows import request_rows
from .info.unused_files import problems_by_cycle
from .info.usage_budgets import budget_rows
from .metric_catalog import Gauges
from .usage_metrics import add_usage

RESOURCES: Mapping[str, tuple[str, int]] = {
    INSTANCES: (INSTANCES, 1),
    CORES: (CORES, 1),
    RAM: ("ram_bytes", 1 << 20),
    VOLUMES: (VOLUMES, 1),
    VOLUME_GB: ("volume_bytes", 1 << 30),
    PORTS: (PORTS, 1),
    FLOATING_IPS: ("floating_ips", 1),
}
"""Nodepool's name of a resource → the value of the label ``resource``, and its unit in base units."""
REASONS = frozenset(
    value for name, value in vars(reasons).items() if name.isupper() and isinstance(value, str) and name[:1] != "_"
)


def gauges_of(
    reading: TreeReading,
    config: NodepoolConfig,
    now: float,
    budgets: Sequence[Mapping[str, Any]] | None = None,
    file_problems: Sequence[str] = (),
) -> Gauges:
    """Return all gauges of the tree.

    :param now: UNIX time.
    :param budgets: the rows of the budgets, when the caller already has them.
    :param file_problems: what is wrong with the files of the program that tells the metrics.
    """
    gauges = Gauges()
    _add_nodes(gauges, reading)
    _add_requests(gauges, reading, now)
    requests = request_rows(reading, now)
    labels, providers = label_rows(config, reading, now, requests), provider_rows(config, reading, now)
    for row in labels:
        if row["configured"]:
            gauges.set(catalog.LABEL_MISSING, row["label"], value=row["min_ready_missing"])
    for row in providers:
        _add_provider(gauges, row)
        _add_reading(gauges, reading, row["name"])
    _add_leaks(gauges, reading, config)
    _add_components(gauges, reading)
    _add_cycles(gauges, reading)
    add_images(gauges, reading, config, now)
    budgets = budget_rows(config, reading, now) if budgets is None else budgets
    add_usage(gauges, reading, budgets, now)
    for cause, kind in CAUSES.items():
        gauges.set(catalog.ATTENTION, cause, kind.level, value=0)
    rows = RowsOf(providers, image_rows(config, reading, now), labels, requests, budgets)
    for row in attention(reading, now, rows, file_problems, config):
        gauges.add(catalog.ATTENTION, row["cause"], row["level"])
    return gauges


def counters_in(reading: TreeReading, config: NodepoolConfig) -> Counters:
    """Return the sums of the counters of all hosts. An unusable document is left out: its cycle reports it.

    The counters of launches and leaks of the configuration's providers begin with 0: Prometheus does not see the first
    increase of a counter that did not exist before.
    """
    total = Counters()
    for provider in config.providers.values():
        for pool in provider.pools:
            total.begin(LAUNCHES, provider.name, pool, READY, "")
            for failure in Failure:
                total.begin(LAUNCHES, provider.name, pool, FAILED, failure_label(failure.value))
        for kind in Kind.CLOUD:
            total.begin(LEAKS_REMOVED, provider.name, kind, "deleted")
    for found in reading.below(f"{paths.OWN}/{COUNTERS}"):
        try:
            total.merge(counters_of(found.document))
        except BadDocument:
            continue
    return total


def _add_cycles(gauges: Gauges, reading: TreeReading) -> None:
    """Add when cycles ended last, and when running cycles last showed progress; of several cycles the latest."""
    for found in reading.below(f"{paths.OWN}/{COUNTERS}"):
        host, cycle, ended = (found.document.get(key) for key in ("host", "cycle", "ended"))
        moment = seconds(ended)
        if text(host) and text(cycle) and moment is not None:
            gauges.set(catalog.CYCLE_END, host, cycle, value=moment)
    for found in sorted(reading.below(f"{paths.OWN}/{HEARTBEATS}"), key=lambda found: found.written):
        host, cycle = text(found.document.get("hostname")), text(found.document.get("cycle"))
        if host and cycle:
            gauges.set(catalog.CYCLE_HEARTBEAT, host, cycle, value=found.written)
    for (host, cycle), count in problems_by_cycle(reading).items():
        gauges.set(catalog.CONFIG_PROBLEMS, host, cycle, value=count)


def _add_nodes(gauges: Gauges, reading: TreeReading) -> None:
    for node in reading.below(paths.NODES):
        document = node.document
        gauges.add(
            catalog.NODES,
            text(document.get("provider")),
            text(document.get("pool")),
            ",".join(words(document.get("type"))),
            known_state(document.get("state"), NodeState.ALL),
        )


def _add_requests(gauges: Gauges, reading: TreeReading, now: float) -> None:
    for state in sorted(RequestState.ALL):
        gauges.set(catalog.REQUESTS, state, "", value=0)
    oldest: dict[str, float] = {}
    for row in request_rows(reading, now):
        state = known_state(row["state"], RequestState.ALL)
        code = row["reason"]["code"] if row["reason"] else ""
        gauges.add(catalog.REQUESTS, state, code if code in REASONS or not code else OTHER)
        if row["created_age"] is not None:
            oldest[state] = min(oldest.get(state, now), now - row["created_age"])
    for state, moment in oldest.items():
        gauges.set(catalog.OLDEST_REQUEST, state, value=moment)


def _add_provider(gauges: Gauges, row: Mapping[str, Any]) -> None:
    name = row["name"]
    if row["configured"]:
        gauges.set(catalog.ACTING, name, value=bool(row["acting"] or row["acted_for_by"]))
    if row["acting"]:
        gauges.set(catalog.STANDBYS, name, value=len(row["standing_by"]))
    for host in row["acted_for_by"]:
        gauges.set(catalog.ACTING_INFO, name, host, value=1)
    if row["health"] is not None:
        gauges.set(catalog.HEALTHY, name, value=row["health"]["state"] == "ok")
    if row["calls"]:
        gauges.set(catalog.FAILED_CALLS, name, value=row["failed_calls"] / row["calls"])
    gauges.set(catalog.STUCK, name, value=len(row["stuck"]))
    _add_resources(gauges, name, "", row["resources"])
    for item in row["resources"]:
        if item["resource"] in RESOURCES and item["others"]:
            resource, unit = RESOURCES[item["resource"]]
            gauges.set(catalog.QUOTA_OTHERS, name, resource, value=item["others"] * unit)
    for breaker in row["breakers"]:
        gauges.set(catalog.BREAKER, name, breaker["image"], breaker["flavor"], value=1)
    for pool in row["pools"]:
        _add_resources(gauges, name, pool["name"], pool["resources"])
        if pool["registered"]:
            gauges.set(catalog.PAUSED, name, pool["name"], value=pool["paused"])
        frozen = {freeze["resource"] for freeze in pool["freezes"]}
        for resource in ORDER:
            gauges.set(catalog.FROZEN, name, pool["name"], RESOURCES[resource][0], value=resource in frozen)


def _add_resources(gauges: Gauges, provider: str, pool: str, rows: list[dict[str, Any]]) -> None:
    for item in rows:
        if item["resource"] not in RESOURCES:
            continue
        resource, unit = RESOURCES[item["resource"]]
        gauges.set(catalog.QUOTA_USED, provider, pool, resource, value=item["used"] * unit)
        if item["limit"] is not None:
            gauges.set(catalog.QUOTA_LIMIT, provider, pool, resource, value=item["limit"] * unit)


def _add_reading(gauges: Gauges, reading: TreeReading, provider: str) -> None:
    found = reading.one(f"{paths.own(own_tree.PROVIDERS)}/{provider}")
    read = mapping(found.document.get("reading")) if found is not None else None
    moment = seconds((read or {}).get("at"))
    if moment is not None:
        gauges.set(catalog.QUOTA_READ, provider, value=moment)


def _add_leaks(gauges: Gauges, reading: TreeReading, config: NodepoolConfig) -> None:
    places = [("", reading.one(paths.own(own_tree.TREE_SIGHTINGS)))]
    root = paths.own(own_tree.SIGHTINGS)
    places += [(name, reading.one(f"{root}/{paths.segment(name)}")) for name in config.providers]
    for provider, found in places:
        document = found.document if found is not None else {}
        for kind in mapping(document.get("looked")) or {}:
            if kind in Kind.ALL:
                gauges.set(catalog.LEAKS, provider, kind, value=0)
        for key in mapping(document.get("seen")) or {}:
            kind = key.partition("/")[0]
            gauges.add(catalog.LEAKS, provider, kind if kind in Kind.ALL else OTHER)


def _add_components(gauges: Gauges, reading: TreeReading) -> None:
    for kind in ("builder", "launcher"):
        for found in reading.below(f"{paths.COMPONENTS}/{kind}"):
            host, state, version = (text(found.document.get(key)) for key in ("hostname", "state", "version"))
            gauges.set(catalog.COMPONENT_INFO, kind, host, state, version, value=1)
