# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What needs attention, grouped by cause, each with its remedy: the one list of the screen and of the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.tree_reading import TreeReading, place_of
from ...launching.call_shares import flaps
from ...launching.harvest import MANY, Harvest
from ...model.config.types import NodepoolConfig
from ...model.gate import FLAKY, INCONCLUSIVE, REJECTED
from ...model.lines import amount, failed, few, in_a_row, joined, part_of, span, word_for
from ...model.node import NodeState
from ...model.owner import CLOUD
from ...model.request import RequestState
from .build_figures import figures_of_failures
from .causes import BAD, CAUSES, UNTOLD, aside, row_about
from .gate_rows import held_canaries
from .leak_rows import leak_rows, undeletable
from .providers import PROVIDERS
from .request_troubles import request_troubles, with_requests
from .unused_files import unsent_metrics, unused_files, wrong_clocks
from .usage_budgets import WHEN

MISSED_AFTER, MISSED_FOR = 1800.0, 86400.0
"""Seconds without another launcher after which it is missed, and for which, as in the alert ``NodepoolNoStandby``."""
MOST_LACKING = 3
"""Most labels without their ready nodes or without a pool, and images without an upload at a provider, that have a row
each; more share one: often a single cloud, a single file or a builder is the cause."""
BY_COMMAND = "repeat its lease or release with --launch, or start a launcher"
_AT_REST = (NodeState.READY, NodeState.HOLD, NodeState.IN_USE)
_GATE_SAYS = {REJECTED: "is rejected", INCONCLUSIVE: "is not decided", FLAKY: "passed after a failure"}
_OF_EVERY_SITE = (paths.NODES, paths.REQUESTS, paths.IMAGES, PROVIDERS)
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class RowsOf:
    """The rows of :mod:`providers`, :mod:`image_list`, :mod:`labels`, :mod:`request_rows` and :mod:`usage_budgets`."""

    providers: Rows = ()
    images: Rows = ()
    labels: Rows = ()
    requests: Rows = ()
    budgets: Rows = ()


def attention(
    reading: TreeReading,
    now: float,
    rows_of: RowsOf,
    file_problems: Sequence[str] = (),
    config: NodepoolConfig | None = None,
) -> list[dict[str, Any]]:
    """Return what needs attention now, the worst and then the most frequent first.

    :param file_problems: what is wrong with the files of the program that shows this.
    :param config: tells which image a label is made from; without it requests that failed have no figures of builds.
    """
    rows = [
        *_of_files(reading, file_problems),
        *_of_nothing(reading, config),
        *_of_clocks(reading),
        *_of_metrics(reading),
        *_of_providers(reading, now, rows_of.providers, rows_of.requests, undeletable(leak_rows(reading, now))),
        *_wasted(reading, rows_of.providers, now),
        *_of_labels(rows_of.labels, rows_of.providers),
        *_of_images(rows_of.images),
        *_of_budgets(rows_of.budgets),
    ]
    rows = with_requests(rows, request_troubles(reading, rows_of.requests, rows_of.providers, now, config))
    order = list(CAUSES)
    return sorted(rows, key=lambda row: (row["level"] != BAD, order.index(row["cause"]), -row["count"]))


def _of_files(reading: TreeReading, file_problems: Sequence[str]) -> Iterator[dict[str, Any]]:
    unused = unused_files(reading)
    for host in unused:
        yield row_about("configuration", "configuration", host.text())
    if not set(file_problems) <= {problem for host in unused for problem in host.problems}:
        told = f"the configuration of this view cannot be used: {'; '.join(file_problems)}; it uses the previous one"
        yield row_about("configuration", "configuration", told)


def _of_nothing(reading: TreeReading, config: NodepoolConfig | None) -> Iterator[dict[str, Any]]:
    """Yield a row if nobody has ever written where the configuration leads: launchers may work well elsewhere."""
    written = reading.has_launcher or any(reading.names(root) for root in _OF_EVERY_SITE)
    if config is None or not config.providers or written:
        return
    nothing = f"there is no node, request, image or launcher in {place_of(config.zookeeper)}"
    told = f"{nothing}: correct chroot in zookeeper-servers, unless no launcher or builder has run yet"
    yield row_about("configuration", "configuration", f"{config.path}: {told}")


def _of_clocks(reading: TreeReading) -> Iterator[dict[str, Any]]:
    for host, ahead in sorted(wrong_clocks(reading).items()):
        side = "ahead of" if ahead > 0 else "behind"
        yield row_about(
            "clock", host, f"the clock of {host} is {span(abs(ahead))} {side} that of ZooKeeper", subject=host
        )


def _left_to_commands(row: Mapping[str, Any], requests: Rows) -> Iterator[dict[str, Any]]:
    """Yield a row if something waits at a provider for which only commands act, such as after a quick start."""
    if not row["configured"]:
        return
    waiting = sum(1 for one in requests if one["state"] not in RequestState.FINISHED)
    leaving = sum(count for state, count in row["nodes"].items() if state not in _AT_REST)
    parts = [amount(waiting, "request")] if waiting else []
    parts += [f"{amount(leaving, 'node')} to be launched or deleted"] if leaving else []
    if parts:
        told = f"{joined(parts)} {word_for(waiting + leaving, 'waits', 'wait')} for a command with --launch"
        found = row_about("no-launcher", row["name"], told, count=waiting + leaving, provider=row["name"])
        yield {**found, "remedy": BY_COMMAND, "command": "nodepoolctl leases"}


def _of_metrics(reading: TreeReading) -> Iterator[dict[str, Any]]:
    for host, told in sorted(unsent_metrics(reading).items()):
        yield row_about("metrics", host, told, subject=host)


def _held(reading: TreeReading, provider: str, now: float) -> Iterator[dict[str, Any]]:
    """Yield the canaries that are held: where the project is full, everybody waits for their room."""
    for node_id, image, why, left in held_canaries(reading, provider, now):
        told = f"canary {node_id} of {image} is held for a person and takes room{f': {why}' if why else ''}"
        yield row_about("gate-held", provider, told, ends_in=left, provider=provider, subject=node_id)


def _of_providers(
    reading: TreeReading, now: float, providers: Rows, requests: Rows, leaks: Rows
) -> Iterator[dict[str, Any]]:
    for row in providers:
        name = row["name"]
        if row["by_commands"]:
            yield from _left_to_commands(row, requests)
        elif not row["acting"] and row["configured"] and not row["acted_for_by"]:
            yield row_about("no-launcher", name, "no launcher serves this provider", provider=name)
        missed = row["stood_by_age"]
        if row["acting"] and not row["standing_by"] and missed is not None and MISSED_AFTER < missed < MISSED_FOR:
            told = f"no other launcher has stood by for it for {span(missed)}"
            yield row_about("no-standby", name, told, provider=name)
        health = row["health"]
        if health is not None and health["state"] != "ok":
            yield row_about(
                "provider", name, health["text"], age=health["age"], provider=name, owner=health["owner"] or None
            )
        elif flaps(row["calls"], row["failed_calls"]):
            told = f"{row['failed_calls']} of {amount(row['calls'], 'call')} of the last hour failed"
            share = round(100 * row["failed_calls"] / row["calls"])
            yield row_about("flapping", name, f"{told} ({share} %)", provider=name, owner=CLOUD)
        if row["nodes"].get(NodeState.HOLD):
            yield from _held(reading, name, now)
        for pool in row["pools"]:
            for freeze in pool["freezes"]:
                told = f"frozen after a refused create ({freeze['resource']}): {freeze['text'] or UNTOLD}"
                yield row_about("freeze", f"{name}/{pool['name']}", told, ends_in=freeze["ends_in"], provider=name)
        for item in row["breakers"]:
            figures = figures_of_failures(reading, item["image"], name, of_image=False)
            often = f"failed {in_a_row(item['failures'])}"
            told = f"{item['image']} with {item['flavor']} {often}{aside(figures)}: {item['text'] or UNTOLD}"
            yield row_about("breaker", name, told, ends_in=item["ends_in"], provider=name)
        stuck = [*row["stuck"], *(leak for leak in leaks if leak["provider"] == name)]
        if stuck:
            longest = max(item["age"] or 0.0 for item in stuck)
            first = f"{stuck[0]['what']}: " if "what" in stuck[0] else ""
            told = f"{amount(len(stuck), 'deletion')} stuck: {first}{stuck[0]['answer'] or UNTOLD}"
            yield row_about("stuck", name, told, age=longest, count=len(stuck), provider=name)
        for problem in row["problems"]:
            yield row_about("record", name, f"the record of the provider cannot be used: {problem}", provider=name)


def _wasted(reading: TreeReading, providers: Rows, now: float) -> Iterator[dict[str, Any]]:
    """Yield the providers at which more servers were given up in the last ten minutes than became nodes."""
    for row in providers:
        found, harvest = reading.one(f"{PROVIDERS}/{row['name']}"), Harvest()
        harvest.learn(found.document.get("harvest") if found is not None else None)
        created, ready, wasted = harvest.counts(now)
        if wasted >= MANY and wasted > ready:
            told = f"{amount(created, 'server')} created, {ready} ready, {wasted} given up in ten minutes"
            yield row_about("wasted", row["name"], told, count=wasted, provider=row["name"])


def _of_labels(labels: Rows, providers: Rows) -> Iterator[dict[str, Any]]:
    """Yield the labels without a pool, if any launcher works at all, and those without their ready nodes."""
    at_work = any(row["acting"] or row["acted_for_by"] for row in providers)
    lacking, unserved = [], []
    for row in labels:
        if at_work and not row["pools"] and (row["configured"] or row["wanted"]):
            if row["requests"]:
                told = f"no registered pool offers this label; {amount(row['requests'], 'request')} for it"
                yield row_about("label-unserved", row["label"], told, subject=row["label"], count=row["requests"])
            else:
                unserved.append(row["label"])
        elif row["min_ready_missing"]:
            lacking.append(row)
    for together in [lacking] if len(lacking) > MOST_LACKING else [[row] for row in lacking]:
        yield _missing(together)
    # Behind those that somebody has asked for.
    if len(unserved) > MOST_LACKING:
        told = f"no registered pool offers {few(unserved, 'label')}, and nobody asks for them"
        yield row_about("label-unserved", amount(len(unserved), "label"), told, count=0)
    else:
        for label in unserved:
            yield row_about("label-unserved", label, "no registered pool offers this label", subject=label, count=0)


def _missing(labels: Rows) -> dict[str, Any]:
    """Return a row about the ready nodes that labels miss, together."""
    missing, wanted = (sum(row[key] for row in labels) for key in ("min_ready_missing", "min_ready"))
    names = [row["label"] for row in labels]
    told = f"{part_of(missing, wanted, 'ready node')} missing"
    if len(names) == 1:
        return row_about("min-ready", names[0], told, count=missing, subject=names[0])
    return row_about("min-ready", amount(len(names), "label"), f"{told}: {few(names, 'label')}", count=missing)


def _of_budgets(budgets: Rows) -> Iterator[dict[str, Any]]:
    for row in budgets:
        if row["exceeded"]:
            told = f"{row['hours']:.1f} node-hours of {row['budget']} used {WHEN[row['period']]}"
            yield row_about("budget", f"tenant {row['tenant']}", told, subject=row["tenant"])


def _of_images(images: Rows) -> Iterator[dict[str, Any]]:
    lacking: list[tuple[str, str]] = []
    for row in images:
        name = row["image"]
        if row["failures"]:
            told = f"{failed(row['failures'], 'build')}: {row['last_error'] or UNTOLD}"
            yield row_about("build", name, told, age=row["failed_age"], ends_in=row["next_try_in"], subject=name)
        if row["stale"]:
            yield row_about(
                "stale", name, "the newest build is older than twice its rebuild-age", age=row["age"], subject=name
            )
        for item in row["providers"]:
            where, provider = f"{name} at {item['provider']}", item["provider"]
            if item["failures"]:
                told = f"{failed(item['failures'], 'upload')}: {item['last_error'] or UNTOLD}"
                row_of = {"age": item["failed_age"], "ends_in": item["next_try_in"]}
                yield row_about("upload", where, told, provider=provider, subject=name, **row_of)
            if item["unused"]:
                builds, told = amount(len(item["unused"]), "build"), "; ".join(item["troubles"])
                count = len(item["unused"])
                yield row_about(
                    "build-unused", where, f"{builds} not used: {told}", count=count, provider=provider, subject=name
                )
            if (gate := item["gate"]) is not None and f"gate-{gate['state']}" in CAUSES:
                build = f"build {gate['build_id'][:8]} {_GATE_SAYS[gate['state']]}"
                cause, told = f"gate-{gate['state']}", f"{build}: {gate['text'] or UNTOLD}"
                yield row_about(cause, where, told, age=gate["age"], provider=provider, subject=name)
            if row["configured"] and item["current"] is None:
                lacking.append((name, provider))
    yield from _without_upload(lacking)


def _without_upload(lacking: Sequence[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """Yield rows about the images that providers (image, provider) have not got."""
    if len(lacking) <= MOST_LACKING:
        for name, provider in lacking:
            where = f"{name} at {provider}"
            yield row_about("no-upload", where, "there is no ready upload", provider=provider, subject=name)
        return
    images, providers = ({pair[place] for pair in lacking} for place in (0, 1))
    told = f"there is no ready upload of {few(images, 'image')} at {few(providers, 'provider')}"
    where = min(providers) if len(providers) == 1 else amount(len(providers), "provider")
    yield row_about("no-upload", where, told, count=len(lacking), provider=where if len(providers) == 1 else "")
