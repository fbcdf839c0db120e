# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Summarize a cycle's result in sentences: what was done, what failed and why, what is wrong, what waits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..model.lines import amount, of_provider

Result = Mapping[str, Any]


def launcher_summary(result: Result) -> dict[str, Any]:
    """Return the summary of node_launch, in check mode or not."""
    if "plan" in result:
        return _planned(result)
    requests, nodes = result["requests"], result["nodes"]
    acted = ", ".join(result["acted_for"]) or "no provider"
    stood_by = ", ".join(result["stood_by_for"])
    done = (
        f"{amount(len(requests['fulfilled']), 'request')} fulfilled, {len(requests['failed'])} failed,"
        f" {len(requests['waiting'])} waiting; {amount(len(nodes['ready']), 'node')} became ready,"
        f" {len(nodes['deleted'])} deleted; served {acted}"
    )
    return {
        "done": done + (f", stood by for {stood_by}, served by another launcher" if stood_by else ""),
        "failed": [f"request {item['id']} failed: {_why(item['reasons'])}" for item in requests["failed"]],
        "wrong": list(dict.fromkeys(_wrong(result))),
        "waits": [f"request {item['id']} waits: {item['reason']['text']}" for item in requests["waiting"]]
        + _unmet(result),
    }


def _planned(result: Result) -> dict[str, Any]:
    plan = result["plan"]
    at_work = ", ".join(result["acting_elsewhere"])
    done = (
        f"{amount(len(plan['admit']), 'request')} would be served, {len(plan['decline'])} declined,"
        f" {len(plan['wait'])} would wait; {amount(len(plan['delete']), 'node')} would be deleted (--diff shows each"
        f" with its reason); providers with a running launcher: {at_work or 'none'}"
    )
    failed = [item for item in plan["decline"] if item["fail"]]
    return {
        "done": done,
        "failed": [f"request {item['request']} would fail: {_why(item['reasons'])}" for item in failed],
        "wrong": [],
        "waits": [f"request {item['request']} waits: {item['reason']['text']}" for item in plan["wait"]],
    }


def uploads_summary(result: Result) -> dict[str, Any]:
    """Return the summary of image_upload, in check mode or not."""
    if "plan" in result:
        plan = result["plan"]
        done = (
            f"{amount(len(plan['upload']), 'image')} would be uploaded; {amount(len(plan['delete']), 'deletion')} of"
            " uploads, builds and files (--diff shows each with its reason)"
        )
        return {"done": done, "failed": [], "wrong": [], "waits": []}
    uploads = result["uploads"]
    done = (
        f"{amount(len(uploads['done']), 'image')} uploaded, {amount(len(uploads['failed']), 'upload')} failed,"
        f" {amount(len(uploads['deleted']), 'upload')} and {amount(len(result['builds_deleted']), 'build')} deleted,"
        f" {len(result['undeleted'])} could not be deleted"
    )
    return {"done": done, "failed": [], "wrong": [*result["problems"], *result["config_problems"]], "waits": []}


def builds_summary(result: Result, failures: Sequence[str]) -> dict[str, Any]:
    """Return the summary of a cycle of dib_build, in check mode or not."""
    if "plan" in result:
        plan = result["plan"]
        done = (
            f"{amount(len(plan['build']), 'image')} would be built, {len(plan['wait'])} would not (--diff shows each"
            " with its reason)"
        )
        return {"done": done, "failed": [], "wrong": [], "waits": []}
    states = [row["state"] for row in result["builds"]]
    done = (
        f"{amount(states.count('ready'), 'image')} built, {states.count('failed')} failed,"
        f" {len(result['not_built'])} not due or impossible"
    )
    return {"done": done, "failed": list(failures), "wrong": list(result["config_problems"]), "waits": []}


def _why(reasons: Iterable[Mapping[str, Any]]) -> str:
    """Join the reasons, each one once."""
    return "; ".join(dict.fromkeys(str(reason["text"]) for reason in reasons)) or "no pool offers its labels"


def _wrong(result: Result) -> Iterable[str]:
    yield from (
        f"provider {name} is skipped: {why.removeprefix(f'provider {name}: ')}"
        for name, why in result["left_out"].items()
    )
    for name, health in result["health"].items():
        if health["state"] != "ok":
            text = str(health["text"])
            yield of_provider(name, text)
    for pool, resources in result["freezes"].items():
        yield f"{pool}: frozen after a refused create ({', '.join(resources)})"
    for provider, broken in result["breakers"].items():
        yield f"provider {provider}: launches kept failing with {', '.join(broken)}"
    for provider in sorted({str(item["provider"]) for item in result["stuck_deletions"]}):
        count = sum(1 for item in result["stuck_deletions"] if item["provider"] == provider)
        yield f"provider {provider}: {amount(count, 'thing')} cannot be deleted, see stuck_deletions"
    yield from (text for text in result["config_problems"] if not _is_told(text, result["left_out"]))


def _is_told(text: str, left_out: Mapping[str, str]) -> bool:
    return any(why in text for why in left_out.values())


def _unmet(result: Result) -> list[str]:
    reasons = result.get("min_ready_reasons", {})
    return [
        f"label {label}: {amount(count, 'node')} short of min-ready"
        + (f": {why}" if (why := reasons.get(label)) else "")
        for label, count in result["min_ready_unmet"].items()
    ]
