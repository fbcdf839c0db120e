# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The handlers of the web pages: ``/``, ``/nodes``, ``/requests``, ``/images``, ``/usage``, and the pages below them.

Each page is complete without JavaScript. With ``fragment=1`` in the query only the part that changes is sent; the
page's script requests that part and replaces the old one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from ...clients.zookeeper.link import paths
from ...model import own_tree
from ...reporting.info.explain import explanation, launch_path, nodes_of
from ...reporting.info.node_rows import NodeFilter, gone_life, node_life, node_rows, tombstone_paths
from ..libraries import Request, Response
from ..picture import Snapshot
from ..routing import Route
from ..spent_budgets import spent_budgets
from .curves import BIN, MOST_CHANGES, Past, past
from .lists import NODE_FIELDS, REQUEST_FIELDS, Query, Row, choices, listed
from .overview import Overview, matches, overview, parts
from .rendering import NO_FILES, has_files, rendered, static
from .timeline import MOST_LINES, Line, of_request, timeline
from .usage_tables import usage_tables

USAGE_EVERY = 15.0
"""Seconds between two computations of the page about usage, which needs every node and its launch."""
VALID = 10.0
"""Seconds for which rows may be shown when nothing changes: the browser keeps their ages up to date."""
NODE_FILTERS = ("state", "provider", "pool", "label")
REQUEST_FILTERS = ("state", "label", "reason")
TOMBSTONES = paths.own(own_tree.TOMBSTONES)
TYPES = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}


# -- rows, remembered for all visitors -------------------------------------------------------------------------------


def _overview(snapshot: Snapshot) -> tuple[float, Overview]:
    """Return when the rows were made, and the rows."""
    return snapshot.remembered(
        "page: overview",
        lambda: (
            snapshot.now,
            overview(
                snapshot.config,
                snapshot.reading,
                snapshot.now,
                snapshot.picture.file_problems,
                spent_budgets(snapshot),
            ),
        ),
        valid=VALID,
    )


def _past(snapshot: Snapshot, made: float) -> Past:
    """Return the curves; they are drawn again only when the history has grown."""
    history = snapshot.picture.history
    version = (history.version, made // BIN)
    return snapshot.picture.remembered.value("page: past", version, VALID, lambda: past(history, made))


def _nodes(snapshot: Snapshot) -> tuple[float, list[dict[str, Any]]]:
    return snapshot.remembered(
        "page: nodes",
        lambda: (
            snapshot.now,
            node_rows(snapshot.reading.below(paths.NODES), NodeFilter(), snapshot.now, detail=False),
        ),
        roots=(paths.NODES,),
        valid=VALID,
    )


# -- pages -----------------------------------------------------------------------------------------------------------


def _first(snapshot: Snapshot, request: Request) -> Response:
    query = Query.of(request.args, ())

    def text() -> tuple[float, str]:
        made, found = _overview(snapshot)
        shown = {**parts(found, query.search), "past": _past(snapshot, made), "most_changes": MOST_CHANGES}
        return made, _text(snapshot, request, "overview.html", made, query=query, **shown)

    if query.search:
        return _tagged(snapshot, request, _overview(snapshot)[0], lambda: text()[1])
    # The first page without a search is rendered once for all visitors.
    made, whole = snapshot.remembered(f"page: first {_is_fragment(request)}", text, valid=VALID)
    return _tagged(snapshot, request, made, lambda: whole)


def prepare(snapshot: Snapshot) -> None:
    """Read all records and render the first page, so that the first visitor does not wait for it."""
    if has_files():
        _first(snapshot, Request({"REQUEST_METHOD": "GET", "PATH_INFO": "/"}))


def _node_list(snapshot: Snapshot, request: Request) -> Response:
    made, rows = _nodes(snapshot)
    return _list(snapshot, request, "nodes.html", made, rows, filters=NODE_FILTERS, keys=NODE_FIELDS)


def _request_list(snapshot: Snapshot, request: Request) -> Response:
    made, found = _overview(snapshot)
    return _list(snapshot, request, "requests.html", made, found.requests, filters=REQUEST_FILTERS, keys=REQUEST_FIELDS)


def _list(
    snapshot: Snapshot,
    request: Request,
    template: str,
    made: float,
    rows: Sequence[Row],
    *,
    filters: Sequence[str],
    keys: Sequence[str],
) -> Response:
    query = Query.of(request.args, filters)

    def text() -> str:
        shown, options = listed(rows, query, keys), choices(rows, filters)
        return _text(snapshot, request, template, made, query=query, listed=shown, choices=options)

    return _tagged(snapshot, request, made, text)


def _image_list(snapshot: Snapshot, request: Request) -> Response:
    query = Query.of(request.args, ())
    made, found = _overview(snapshot)
    wanted = query.search.casefold()
    rows = [row for row in found.images if not wanted or matches(row, wanted, ("image", "providers"))]
    return _tagged(
        snapshot, request, made, lambda: _text(snapshot, request, "images.html", made, query=query, rows=rows)
    )


def _usage(snapshot: Snapshot, request: Request) -> Response:
    made, tables = snapshot.picture.remembered.value(
        "page: usage",
        (snapshot.config, snapshot.now // USAGE_EVERY),
        USAGE_EVERY,
        lambda: (snapshot.now, usage_tables(snapshot.config, snapshot.reading, snapshot.now)),
    )
    return _tagged(snapshot, request, made, lambda: _text(snapshot, request, "usage.html", made, **tables))


def _node(snapshot: Snapshot, request: Request, node_id: str) -> Response:
    found = snapshot.reading.one(f"{paths.NODES}/{node_id}")
    if found is None:
        return _deleted(snapshot, request, node_id)
    (row,) = node_rows([found], NodeFilter(), snapshot.now, detail=True)
    life = node_life(found, snapshot.reading.one(launch_path(node_id)), snapshot.now)
    lines = timeline([(node_id, life["steps"])], snapshot.now)
    return _html(_text(snapshot, request, "node.html", snapshot.now, row=row, life=life, lines=lines))


def _deleted(snapshot: Snapshot, request: Request, node_id: str) -> Response:
    """Show the life of a deleted node, as long as its launcher keeps it."""
    places = tombstone_paths(node_id, snapshot.reading.names(TOMBSTONES))
    stone = next(filter(None, map(snapshot.reading.one, places)), None)
    life = gone_life(stone, snapshot.now) if stone is not None else None
    lines = timeline([(node_id, life["steps"])], snapshot.now) if life is not None else []
    return _gone(snapshot, request, "node", node_id, "nodes", life=life, lines=lines)


def _request(snapshot: Snapshot, request: Request, request_id: str) -> Response:
    made, found = _overview(snapshot)
    row = next((row for row in found.requests if row["id"] == request_id), None)
    if row is None or snapshot.reading.one(f"{paths.REQUESTS}/{request_id}") is None:
        return _gone(snapshot, request, "request", request_id, "requests")

    def text() -> str:
        told = explanation(snapshot.reading, found.requests, request_id, made)
        lines = _lines_of_request(snapshot, row, made)
        return _text(snapshot, request, "request.html", made, row=row, told=told, lines=lines)

    return _tagged(snapshot, request, made, text)


def _lines_of_request(snapshot: Snapshot, row: Row, made: float) -> list[Line]:
    """Return the lines of a request and of its first nodes."""
    reading = snapshot.reading
    lives = [
        (node.name, node_life(node, reading.one(launch_path(node.name)), made)["steps"])
        for node in nodes_of(reading, row["id"])[:MOST_LINES]
    ]
    return timeline([("request", of_request(row, made)), *lives], made)


def _gone(
    snapshot: Snapshot,
    request: Request,
    kind: str,
    name: str,
    back: str,
    life: Row | None = None,
    lines: Sequence[Line] = (),
) -> Response:
    told = {"kind": kind, "name": name, "back": back, "life": life, "lines": lines}
    return _html(_text(snapshot, request, "gone.html", snapshot.now, **told), 404)


# -- answers ---------------------------------------------------------------------------------------------------------


def _is_fragment(request: Request) -> bool:
    return bool(request.args.get("fragment"))


def root_of(path: str) -> str:
    """Return the way from a page to the first page. All links are relative: a proxy may have the service at any path.

    :param path: the path of the page, as the service sees it.
    """
    return "../" * (path.count("/") - 1) or "./"


def _text(snapshot: Snapshot, request: Request, template: str, made: float, **values: Any) -> str:
    """Render a page.

    :param made: UNIX time at which the rows were made; their ages count from it.
    """
    contact = snapshot.contact
    return rendered(
        template,
        layout="fragment.html" if _is_fragment(request) else "layout.html",
        now=made,
        path=request.path,
        root=root_of(request.path),
        contact=contact,
        known_at=None if contact.age is None else round(snapshot.now - contact.age),
        versions=_versions(),
        **values,
    )


def _html(text: str, status: int = 200) -> Response:
    return Response(text, status, headers={"Cache-Control": "no-cache"}, mimetype="text/html")


def _tagged(snapshot: Snapshot, request: Request, made: float, text: Callable[[], str]) -> Response:
    """Return the page, or 304 without rendering it when the visitor already has the page of these rows.

    :param made: when the rows were made; it identifies them.
    """
    contact = snapshot.contact
    told = f"{made} {contact.connected} {contact.problem} {request.full_path} {_versions()}"
    tag = hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:20]
    if request.if_none_match.contains_weak(tag):
        response = Response(status=304, headers={"Cache-Control": "no-cache"})
    else:
        response = _html(text())
    response.set_etag(tag, weak=True)
    return response


def _with_tree(handler: Callable[..., Response]) -> Callable[..., Response]:
    """Wrap a handler: until the tree is read for the first time, a page says so and reloads itself."""

    def answer(snapshot: Snapshot, request: Request, **arguments: str) -> Response:
        if not has_files():
            return Response(f"{NO_FILES}\n", 503, mimetype="text/plain")
        if snapshot.contact.age is not None:
            return handler(snapshot, request, **arguments)
        response = _html(_text(snapshot, request, "unread.html", snapshot.now), 503)
        response.headers["Retry-After"] = "5"
        return response

    return answer


@cache
def _versions() -> dict[str, str]:
    """Return a mapping: static file → version of its content."""
    return {name: hashlib.sha256(static(name)).hexdigest()[:12] for name in TYPES}


def _static(_snapshot: Snapshot, _request: Request, name: str) -> Response:
    if name not in TYPES or not has_files():
        return Response("there is no such file\n", 404, mimetype="text/plain")
    # The URL contains the version of the content.
    return Response(
        static(name), headers={"Cache-Control": "public, max-age=31536000, immutable"}, mimetype=TYPES[name]
    )


ROUTES: tuple[Route, ...] = (
    Route("/", _with_tree(_first), needs_tree=False),
    Route("/nodes", _with_tree(_node_list), needs_tree=False),
    Route("/nodes/<node_id>", _with_tree(_node), needs_tree=False),
    Route("/requests", _with_tree(_request_list), needs_tree=False),
    Route("/requests/<request_id>", _with_tree(_request), needs_tree=False),
    Route("/images", _with_tree(_image_list), needs_tree=False),
    Route("/usage", _with_tree(_usage), needs_tree=False),
    Route("/static/<name>", _static, needs_tree=False),
)
