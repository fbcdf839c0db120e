# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What needs attention, grouped by cause, each with its remedy: the one list of the screen and of the page."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...clients.zookeeper.tree_reading import TreeReading
from ...launching.call_shares import flaps
from ...launching.harvest import MANY, Harvest
from ...model import reasons
from ...model.config.types import NodepoolConfig
from ...model.documents import text
from ...model.gate import FLAKY, INCONCLUSIVE, REJECTED
from ...model.lines import amount
from ...model.owner import ACCOUNT, CLOUD, IMAGE, LABEL
from ...model.request import RequestState
from .build_figures import figures_of_failures
from .expecting import deleted_lately
from .explain import UNSAID, reasons_of_pools
from .providers import PROVIDERS
from .request_rows import WAITS
from .unused_files import unused_files

BAD, WARN = "bad", "warn"
UNTOLD = "no text is stored"
LONG_WAIT = 600.0
"""Seconds after which a request that waits needs attention."""
MOST_NAMES = 3
MOST_POOLS = 8
"""Most pools whose reasons about the oldest request are told; the others are counted."""
_OF_TROUBLE = {reasons.FROZEN: "freeze", reasons.BREAKER: "breaker", reasons.PROVIDER_TROUBLE: "provider"}
"""Code of a reason → cause of the row about the trouble that it tells."""
_WHAT = ("what", "resource", "label", "image", "tenant")
"""Fields of a reason that tell one shortage from another in the same place."""
_GATE_SAYS = {REJECTED: "is rejected", INCONCLUSIVE: "is not decided", FLAKY: "passed after a failure"}
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class RowsOf:
    """The rows of :mod:`providers`, :mod:`image_list`, :mod:`labels`, :mod:`request_rows` and :mod:`usage_budgets`."""

    providers: Rows = ()
    images: Rows = ()
    labels: Rows = ()
    requests: Rows = ()
    budgets: Rows = ()


@dataclass(frozen=True)
class Cause:
    """A kind of trouble.

    :ivar level: BAD: something does not work. WARN: it works on with less.
    :ivar remedy: what the operator can do.
    :ivar command: the words of the command to type; fields of the row stand in braces.
    :ivar section: the heading of docs/operating.md that explains it.
    """

    level: str
    remedy: str
    command: tuple[str, ...]
    section: str


_OF_ONE = "see what each pool said of one of them"
_EXPLAIN = ("nodepoolctl", "why", "{subject}")
_BUILDS = ("nodepoolctl", "builds")
_IMAGES = ("nodepoolctl", "images")
_CHECK = ("ansible-playbook", "stackci.nodepool.config_validate")
_JOURNAL = ("journalctl", "-u", "nodepool-launcher", "-n", "50")
_THROTTLE = ("ansible", "localhost", "-m", "stackci.nodepool.throttle", "-a")

CAUSES: Mapping[str, Cause] = {
    "configuration": Cause(BAD, "correct the file that is named", _CHECK, "Nodes stop coming"),
    "no-launcher": Cause(
        BAD,
        "start the launcher, or see why it ended",
        ("systemctl", "status", "nodepool-launcher"),
        "Nothing happens at all",
    ),
    "provider": Cause(
        BAD,
        "the launcher retries by itself; tell the operators of the cloud",
        _CHECK,
        "Freezes, breakers, health",
    ),
    "label-unserved": Cause(
        BAD, "correct the label, or start the launcher of a provider that offers it", _CHECK, "Why does a request wait?"
    ),
    "requests-failed": Cause(BAD, _OF_ONE, _EXPLAIN, "Whose fault a failure is"),
    "build": Cause(BAD, "correct the image; the last good build stays in use", _BUILDS, "Builds of disk images"),
    "upload": Cause(
        BAD,
        "the builder retries; the last good upload stays in use",
        _IMAGES,
        "Uploads of disk images",
    ),
    "build-unused": Cause(
        WARN,
        "correct the image and build it again, or restore the build",
        ("nodepoolctl", "restore", "{subject}"),
        "Builds that are not used",
    ),
    "gate-rejected": Cause(
        WARN,
        "see the log of its test; correct the image and build it again",
        _IMAGES,
        "Tests of new images",
    ),
    "gate-inconclusive": Cause(
        WARN,
        "it is not the image: see what the log of the test says of the mirror, the playbook or the cloud",
        _IMAGES,
        "Tests of new images",
    ),
    "gate-flaky": Cause(
        WARN,
        "the build is used; see the log of the test that failed",
        _IMAGES,
        "Tests of new images",
    ),
    "wasted": Cause(WARN, "see why the servers of one failed node were given up", _JOURNAL, "Whose fault a failure is"),
    "flapping": Cause(
        WARN,
        "none is needed while launches succeed; show the operators of the cloud which calls fail",
        ("ansible", "localhost", "-m", "stackci.nodepool.provider_info", "-a", "providers={provider}"),
        "Freezes, breakers, health",
    ),
    "requests-wait": Cause(WARN, "see what one of them waits for", _EXPLAIN, "Why does a request wait?"),
    "freeze": Cause(
        WARN,
        "none is needed; end it by hand after the limit was raised",
        (*_THROTTLE, "provider={provider} kind=freeze"),
        "Freezes, breakers, health",
    ),
    "breaker": Cause(
        WARN,
        "see why its servers fail; end it by hand after the fix",
        (*_THROTTLE, "provider={provider} kind=breaker"),
        "Freezes, breakers, health",
    ),
    "min-ready": Cause(WARN, "check that the clouds have what the label needs", _CHECK, "Ready nodes"),
    "stuck": Cause(
        WARN,
        "ask the operators of the cloud to delete the servers",
        ("nodepoolctl", "list", "--state", "deleting"),
        "A server that is not deleted",
    ),
    "stale": Cause(
        WARN, "start a builder, or ask for a build", ("nodepoolctl", "build", "{subject}"), "Builds of disk images"
    ),
    "no-upload": Cause(
        WARN,
        "check that a builder works; see what its last upload said",
        _IMAGES,
        "Uploads of disk images",
    ),
    "budget": Cause(
        WARN,
        "see what it was used for; talk to the tenant, or limit it with tenant-resource-limits: nothing is enforced",
        ("nodepoolctl", "usage", "--tenant", "{subject}", "--by", "project", "--by", "label"),
        "Budgets of tenants",
    ),
    "record": Cause(WARN, "a launcher that acts for the provider rewrites it", (), "Nodes stop coming"),
}

_BY_OWNER: Mapping[tuple[str, str | None], str] = {
    ("provider", ACCOUNT): "correct the account of the provider in clouds.yaml: its password, its project, its rights",
    ("requests-failed", LABEL): f"correct the label in nodepool.yaml; {_OF_ONE}",
    ("requests-failed", IMAGE): f"correct the image and build it again; {_OF_ONE}",
}
"""Cause, owner → the remedy, where it is another one than that of the cause."""


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
        *_of_providers(reading, rows_of.providers),
        *_wasted(reading, rows_of.providers, now),
        *_of_labels(rows_of.labels, rows_of.providers),
        *_of_images(rows_of.images),
        *_of_budgets(rows_of.budgets),
    ]
    rows = _with_requests(rows, _of_requests(reading, rows_of.requests, now, config))
    order = list(CAUSES)
    return sorted(rows, key=lambda row: (row["level"] != BAD, order.index(row["cause"]), -row["count"]))


def _row(
    cause: str,
    where: str,
    told: str | None,
    *,
    age: float | None = None,
    ends_in: float | None = None,
    count: int = 1,
    provider: str = "",
    owner: str | None = None,
    subject: str = "",
    code: str = "",
    pools: Sequence[str] = (),
) -> dict[str, Any]:
    """Return a row.

    :param subject: the image, request or label that the remedy is about.
    :param code: the code of the reason for which requests wait.
    :param pools: what each pool says of the oldest request.
    """
    kind = CAUSES[cause]
    return {
        "cause": cause,
        "level": kind.level,
        "where": where,
        "text": told or UNTOLD,
        "age": age,
        "ends_in": ends_in,
        "count": count,
        "provider": provider,
        "owner": owner,
        "subject": subject,
        "code": code,
        "pools": list(pools),
        "remedy": _BY_OWNER.get((cause, owner), kind.remedy),
        "command": shlex.join(word.format(provider=provider, subject=subject) for word in kind.command),
        "section": kind.section,
    }


def _of_files(reading: TreeReading, file_problems: Sequence[str]) -> Iterator[dict[str, Any]]:
    unused = unused_files(reading)
    for host in unused:
        yield _row("configuration", "configuration", host.text())
    if not set(file_problems) <= {problem for host in unused for problem in host.problems}:
        told = f"the configuration of this view cannot be used: {'; '.join(file_problems)}; it uses the previous one"
        yield _row("configuration", "configuration", told)


def _of_providers(reading: TreeReading, providers: Rows) -> Iterator[dict[str, Any]]:
    for row in providers:
        name = row["name"]
        if not row["acting"] and row["configured"] and not row["acted_for_by"]:
            yield _row("no-launcher", name, "no launcher serves this provider", provider=name)
        health = row["health"]
        if health is not None and health["state"] != "ok":
            yield _row(
                "provider", name, health["text"], age=health["age"], provider=name, owner=health["owner"] or None
            )
        elif flaps(row["calls"], row["failed_calls"]):
            told = f"{row['failed_calls']} of {amount(row['calls'], 'call')} of the last hour failed"
            share = round(100 * row["failed_calls"] / row["calls"])
            yield _row("flapping", name, f"{told} ({share} %)", provider=name, owner=CLOUD)
        for pool in row["pools"]:
            for freeze in pool["freezes"]:
                told = f"frozen after a refused create ({freeze['resource']}): {freeze['text'] or UNTOLD}"
                yield _row("freeze", f"{name}/{pool['name']}", told, ends_in=freeze["ends_in"], provider=name)
        for item in row["breakers"]:
            failed = f"failed {amount(item['failures'], 'time')} in a row"
            figures = figures_of_failures(reading, item["image"], name, of_image=False)
            told = f"{item['image']} with {item['flavor']} {failed}{_aside(figures)}: {item['text'] or UNTOLD}"
            yield _row("breaker", name, told, ends_in=item["ends_in"], provider=name)
        if row["stuck"]:
            longest = max((item["age"] or 0.0 for item in row["stuck"]), default=None)
            told = f"{amount(len(row['stuck']), 'deletion')} stuck: {row['stuck'][0]['answer'] or UNTOLD}"
            yield _row("stuck", name, told, age=longest, count=len(row["stuck"]), provider=name)
        for problem in row["problems"]:
            yield _row("record", name, f"the record of the provider cannot be used: {problem}", provider=name)


def _wasted(reading: TreeReading, providers: Rows, now: float) -> Iterator[dict[str, Any]]:
    """Yield the providers at which more servers were given up in the last ten minutes than became nodes."""
    for row in providers:
        found, harvest = reading.one(f"{PROVIDERS}/{row['name']}"), Harvest()
        harvest.learn(found.document.get("harvest") if found is not None else None)
        created, ready, wasted = harvest.counts(now)
        if wasted >= MANY and wasted > ready:
            told = f"{amount(created, 'server')} created, {ready} ready, {wasted} given up in ten minutes"
            yield _row("wasted", row["name"], told, count=wasted, provider=row["name"])


def _of_labels(labels: Rows, providers: Rows) -> Iterator[dict[str, Any]]:
    """Yield the labels without a pool, if any launcher works at all, and those without their ready nodes."""
    at_work = any(row["acting"] or row["acted_for_by"] for row in providers)
    for row in labels:
        name, missing = row["label"], row["min_ready_missing"]
        if at_work and not row["pools"] and (row["configured"] or row["wanted"]):
            asked = f"; {amount(row['requests'], 'request')} for it" if row["requests"] else ""
            yield _row("label-unserved", name, f"no registered pool offers this label{asked}", subject=name)
        elif missing:
            told = f"{missing} of {row['min_ready']} ready nodes are missing"
            yield _row("min-ready", name, told, count=missing, subject=name)


def _of_requests(
    reading: TreeReading, requests: Rows, now: float, config: NodepoolConfig | None
) -> Iterator[dict[str, Any]]:
    """Yield requests that failed, or wait for long, a row for each cause.

    The row with the oldest request that waits has what each pool says of it.
    """
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    stored = {found.name: found.document for found in reading.below(WAITS)}
    for row in requests:
        failed, waits = (
            row["state"] == RequestState.FAILED,
            row["state"] in (RequestState.REQUESTED, RequestState.PENDING),
        )
        if failed or (waits and (row["created_age"] or 0.0) >= LONG_WAIT):
            groups[failed, *_why(stored.get(row["id"]) or {}, row)].append(row)
    waiting = [row for key, rows in groups.items() if not key[0] for row in rows]
    first = max(waiting, key=lambda row: row["created_age"] or 0.0, default=None)
    for (failed, code, where, _what, owner), rows in groups.items():
        oldest = max(rows, key=lambda row: row["created_age"] or 0.0)
        told = said = (oldest["reason"] or {}).get("text") or "no launcher has given a reason"
        labels = _few({label for row in rows for label in row["labels"]})
        verb = "failed" if failed else "waits" if len(rows) == 1 else "wait"
        if failed and code == reasons.LAUNCH_FAILED and config is not None:
            verb += _aside(_builds_of(reading, rows, where, owner, config))
        elif code == reasons.NO_ROOM:
            told += _aside(deleted_lately(reading, where, now))
        yield _row(
            "requests-failed" if failed else "requests-wait",
            where or "requests",
            f"{amount(len(rows), 'request')} for {labels} {verb}: {told}",
            age=oldest["age"] if failed else oldest["created_age"],
            count=len(rows),
            provider=where.partition("/")[0],
            owner=owner or None,
            subject=oldest["id"],
            code=code,
            pools=_said_by_pools(reading, oldest, said, now) if oldest is first else (),
        )


def _builds_of(reading: TreeReading, rows: Rows, where: str, owner: str, config: NodepoolConfig) -> str:
    """Return the figures of the builds from which launches of requests failed.

    :param where: the pool that failed them.
    """
    provider, _slash, pool = where.partition("/")
    there = config.providers.get(provider)
    offered = there.pools[pool].labels if there is not None and pool in there.pools else {}
    images = sorted({offered[label].image_name for row in rows for label in row["labels"] if label in offered})
    told = (figures_of_failures(reading, image, provider, of_image=owner == IMAGE) for image in images)
    return ", ".join([text for text in told if text][:MOST_NAMES])


def _aside(told: str) -> str:
    return f" ({told})" if told else ""


def _said_by_pools(reading: TreeReading, row: Mapping[str, Any], known: str, now: float) -> list[str]:
    """Return a sentence for each pool with a reason about a request; nothing for a request in work.

    :param known: the reason that is told already.
    """
    if row["state"] != RequestState.REQUESTED:
        return []
    pools = [pool for pool in reasons_of_pools(reading, row, now) if pool["text"] != known and pool["code"] != UNSAID]
    told = [
        pool["text"] if pool["pool"] in pool["text"] else f"{pool['pool']}: {pool['text']}"
        for pool in pools[:MOST_POOLS]
    ]
    rest = len(pools) - MOST_POOLS
    return [*told, *([f"and {amount(rest, 'other pool')}"] if rest > 0 else [])]


def _why(document: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """Return code, place, resource, label or tenant, and owner of a stored reason: what is equal has one cause."""
    if document.get("code") == RequestState.FAILED:
        document = {**_first_reason(document.get("reasons")), "what": (row["reason"] or {}).get("text")}
    what = next(filter(None, (text(document.get(key)) for key in _WHAT)), "")
    code, where, owner = (text(document.get(key)) or "" for key in ("code", "where", "owner"))
    return code, where, what, owner


def _first_reason(told: Any) -> Mapping[str, Any]:
    """Return the reason that decided the failure of a request; others may have written anything there."""
    usable = (
        [item for item in told if isinstance(item, dict) and text(item.get("code"))] if isinstance(told, list) else []
    )
    return next(iter(reasons.causes_first(usable)), {})


def _with_requests(rows: list[dict[str, Any]], requests: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return all rows; requests that wait for the end of a trouble that has a row are counted there."""
    apart = []
    for row in requests:
        places = (_OF_TROUBLE.get(row["code"]), {row["where"], row["provider"]})
        trouble = next((one for one in rows if one["cause"] == places[0] and one["where"] in places[1]), None)
        if row["cause"] != "requests-wait" or trouble is None:
            apart.append(row)
        else:
            waits = "waits" if row["count"] == 1 else "wait"
            trouble["text"] += f"; {amount(row['count'], 'request')} {waits} for this, among them {row['subject']}"
            trouble["count"] += row["count"]
            trouble["pools"] += row["pools"]
    return [*rows, *apart]


def _of_budgets(budgets: Rows) -> Iterator[dict[str, Any]]:
    for row in budgets:
        if row["exceeded"]:
            told = f"{row['hours']:.1f} node-hours of {row['budget']} used this {row['period']}"
            yield _row("budget", f"tenant {row['tenant']}", told, subject=row["tenant"])


def _few(names: Iterable[str]) -> str:
    known = sorted(names)
    rest = len(known) - MOST_NAMES
    return ", ".join(known[:MOST_NAMES]) + (f" and {amount(rest, 'other label')}" if rest > 0 else "") or "no label"


def _of_images(images: Rows) -> Iterator[dict[str, Any]]:
    for row in images:
        name = row["image"]
        if row["failures"]:
            told = f"{amount(row['failures'], 'build')} failed in a row: {row['last_error'] or UNTOLD}"
            yield _row("build", name, told, age=row["failed_age"], ends_in=row["next_try_in"], subject=name)
        if row["stale"]:
            yield _row(
                "stale", name, "the newest build is older than twice its rebuild-age", age=row["age"], subject=name
            )
        for item in row["providers"]:
            where, provider = f"{name} at {item['provider']}", item["provider"]
            if item["failures"]:
                told = f"{amount(item['failures'], 'upload')} failed in a row: {item['last_error'] or UNTOLD}"
                row_of = {"age": item["failed_age"], "ends_in": item["next_try_in"]}
                yield _row("upload", where, told, provider=provider, subject=name, **row_of)
            if item["unused"]:
                builds, told = amount(len(item["unused"]), "build"), "; ".join(item["troubles"])
                count = len(item["unused"])
                yield _row(
                    "build-unused", where, f"{builds} not used: {told}", count=count, provider=provider, subject=name
                )
            if (gate := item["gate"]) is not None and f"gate-{gate['state']}" in CAUSES:
                build = f"build {gate['build_id'][:8]} {_GATE_SAYS[gate['state']]}"
                cause, told = f"gate-{gate['state']}", f"{build}: {gate['text'] or UNTOLD}"
                yield _row(cause, where, told, age=gate["age"], provider=provider, subject=name)
            if row["configured"] and item["current"] is None:
                yield _row("no-upload", where, "there is no ready upload", provider=provider, subject=name)
