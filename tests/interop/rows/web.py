# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The web service of Nodepool's launcher beside the module nodepool_webapp, on the same tree."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.interop.filling import IMAGES, PROVIDERS, fill
from tests.interop.lab import Lab, World, row
from tests.interop.tables import seconds
from tests.support.ansible_run import ModuleProcess
from tests.support.fixtures_zookeeper import eventually
from tests.support.web_service import Answer, ask
from tests.support.zookeeper_server import HOST, free_port

LISTS = ("node-list", "request-list", "image-list", "dib-image-list", "image-status", "label-list")
ACCEPTS = (
    "*/*",
    "text/html",
    "text/html,application/json",
    "application/json,text/plain;q=0.9",
    "application/json;q=0.5,text/plain;q=0.9",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
)
HEADERS = ("content-type", "access-control-allow-origin")
LIVE_SECONDS = 900
PAUSED = IMAGES[1]
AGE = re.compile(r"\d\d:\d\d:\d\d:\d\d")

ALLOWED = {
    "order of rows": "Nodepool's is that of its cache, ours is by id",
    "locked with node_id=": "Nodepool says unlocked of every node; a node without a lock is compared",
    "state of builds of a paused image": "Nodepool says paused only if the pause came after its launcher",
}


class Pair:
    """Both services on one tree."""

    def __init__(self, theirs: str, ours: str) -> None:
        self.theirs, self.ours = theirs, ours

    def both(self, path: str, **headers: str) -> tuple[Answer, Answer]:
        """The answers to one question: theirs, ours."""
        return ask(self.theirs, path, **headers), ask(self.ours, path, **headers)


def _start(lab: Lab) -> tuple[World, Pair]:
    """Nodepool's launcher without a provider, which serves its web page and does nothing else; and our module."""
    world = lab.kept("filled", fill)
    their_port, our_port = free_port(), free_port()
    document = json.loads(world.site.config.read_text("utf-8"))
    document |= {
        "labels": [],
        "providers": [],
        "diskimages": [],
        "webapp": {"port": their_port, "listen_address": HOST},
    }
    path = world.site.folder / "web.yaml"
    path.write_text(json.dumps(document), encoding="utf-8")
    for provider in PROVIDERS:  # our /ready asks for a launcher of each
        registered = world.site.requestor.register_pool(f"pool-{provider}", "small", "large", provider=provider)
        lab.stack.callback(world.site.requestor.client.delete, registered)
    lab.stack.enter_context(world.stock.beside(path).launcher())
    options = {"config": str(world.site.config), "port": our_port, "duration": LIVE_SECONDS, "cross_origin": True}
    lab.stack.enter_context(ModuleProcess("nodepool_webapp", options, world.site.folder, "webapp.json"))
    pair = Pair(f"http://{HOST}:{their_port}/", f"http://{HOST}:{our_port}/")
    for address in (pair.theirs, pair.ours):
        eventually(lambda address=address: _complete(address, world), 180)  # type: ignore[misc]
    return world, pair


def _unlocked(world: World) -> str:
    """A node that has no lock."""
    requestor = world.site.requestor
    return next(node for node in sorted(requestor.nodes()) if not requestor.is_locked(node))


def _complete(address: str, world: World) -> bool:
    """Whether a service answers, and has read the whole tree."""
    try:
        nodes = ask(address, "/node-list", Accept="application/json").json()
        uploads = ask(address, "/image-list", Accept="application/json").json()
    except (OSError, ValueError):
        return False
    return len(nodes) == len(world.site.requestor.nodes()) and len(uploads) == 4


def _rows(answer: Answer, path: str) -> list[str]:
    """The rows of a JSON answer in an order of their own; ages that pass are left out."""
    found = []
    for one in answer.json():
        shown = dict(one)
        if AGE.fullmatch(str(shown.get("age"))):
            shown["age"] = "DD:HH:MM:SS"
        if path == "/dib-image-list" and shown["image"] == PAUSED:
            shown["state"] = "allowed"
        found.append(json.dumps(shown))
    return sorted(found)


def _lines(answer: Answer, path: str) -> list[str]:
    """The lines of a table in an order of their own, its rules and ages apart."""
    lines = [AGE.sub("DD:HH:MM:SS", line) for line in answer.text.split("\n")]
    if path == "/dib-image-list":
        lines = [re.sub(r"([ -])\1+", r"\1", line) for line in lines if f" {PAUSED} " not in line]
    return sorted(lines)


def _differ(
    pair: Pair, path: str, compare: Callable[[Answer, str], list[str]], headers: Mapping[str, str]
) -> list[str]:
    name = f"{path} {headers.get('Accept', '')}"
    theirs, ours = pair.both(path, **headers)
    found = [] if theirs.status == ours.status else [f"{name}: status {theirs.status}, ours {ours.status}"]
    for key in HEADERS:
        if theirs.headers.get(key) != ours.headers.get(key):
            found.append(f"{name}: {key} {theirs.headers.get(key)}, ours {ours.headers.get(key)}")
    if found:
        return found
    bare = path.split("?")[0]
    before, after = compare(theirs, bare), compare(ours, bare)
    gone = [f"{name}: only theirs: {line}" for line in before if line not in after]
    return gone + [f"{name}: only ours: {line}" for line in after if line not in before]


def _closed(found: list[str], asked: int) -> str:
    assert not found, "\n".join(found)
    return f"{asked} questions, no difference but: " + "; ".join(f"{name} ({why})" for name, why in ALLOWED.items())


@row("web-json", "every list of the web service as JSON, with all queries")
def web_json(lab: Lab) -> str:
    """JSON."""
    world, pair = _start(lab)
    some = _unlocked(world)
    paths = [f"/{name}" for name in LISTS]
    paths += [f"/node-list?node_id={some}", "/node-list?node_id=9999999999", "/node-list?fields=id,state"]
    found = [line for path in paths for line in _differ(pair, path, _rows, {"Accept": "application/json"})]
    found += _ages(pair)
    return _closed(found, len(paths) + 1)


def _ages(pair: Pair) -> list[str]:
    """Ages of nodes: ours, theirs, ours again never go back."""
    asked: list[dict[str, Any]] = []
    for address in (pair.ours, pair.theirs, pair.ours):
        nodes = ask(address, f"/node-list?fields=id&again={len(asked)}", Accept="application/json").json()
        asked.append({node["id"]: seconds(node["age"]) for node in nodes})
    first, theirs, last = asked
    # An answer is kept for a second, by both.
    return [
        f"age of {node}: {theirs[node]}, ours {first[node]} to {last[node]}"
        for node in theirs
        if not first[node] - 2 <= theirs[node] <= last[node] + 2
    ]


@row("web-text", "every list of the web service as text, with all queries, and what Accept chooses")
def web_text(lab: Lab) -> str:
    """Tables."""
    world, pair = _start(lab)
    some = _unlocked(world)
    queries = (f"node_id={some}", "node_id=9999999999", "fields=id,state", "fields=state,id,nonsense", "fields=")
    paths = [f"/{name}" for name in LISTS] + [f"/node-list?{query}" for query in queries]
    found = [line for path in paths for line in _differ(pair, path, _lines, {"Accept": "text/plain"})]
    for accept in ACCEPTS:
        is_json = "json" in pair.both("/label-list", Accept=accept)[0].headers["content-type"]
        found += _differ(pair, "/label-list", _rows if is_json else _lines, {"Accept": accept})
    return _closed(found, len(paths) + len(ACCEPTS))


@row("web-rules", "/ready, unknown paths, and what has not changed since")
def web_rules(lab: Lab) -> str:
    """What is not a list."""
    _world, pair = _start(lab)
    eventually(lambda: ask(pair.theirs, "/ready").status == 200, 60)
    found = [
        f"{path}: {theirs.status} {theirs.text!r}, ours {ours.status} {ours.text!r}"
        for path in ("/ready", "/nowhere")
        for theirs, ours in [pair.both(path)]
        if theirs.status != ours.status or (path == "/ready" and theirs.text.strip() != ours.text.strip())
    ]
    for name, address in (("theirs", pair.theirs), ("ours", pair.ours)):
        first = ask(address, "/request-list")
        again = ask(address, "/request-list", If_Modified_Since=first.headers["last-modified"])
        if again.status != 304:
            found.append(f"{name}: If-Modified-Since is answered {again.status}")
        if set(first.headers["cache-control"].split(", ")) != {"public", "max-age=1"}:
            found.append(f"{name}: Cache-Control {first.headers['cache-control']}")
    assert not found, "\n".join(found)
    return "/ready, /nowhere, If-Modified-Since, Cache-Control: the same"
