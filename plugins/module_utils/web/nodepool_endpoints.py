# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The endpoints of Nodepool's own web service: the same rows, formats and headers, and an ETag."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from ..clients.zookeeper.link import paths
from .accept import FORMS, JSON, TEXT, wants_json
from .libraries import Request, Response
from .nodepool_rows import LISTINGS, NODES, Listing, Row, node_row
from .picture import Snapshot
from .routing import Route
from .text_table import text_table

FRESH = 1
"""Seconds for which a client may cache an answer."""


@dataclass(frozen=True)
class Body:
    """The body of an answer and the UNIX time at which it was made."""

    data: bytes
    etag: str
    made: float


def listing(wanted: Listing, snapshot: Snapshot, request: Request) -> Response:
    """Answer with the rows of an endpoint, as JSON or text."""
    form = wants_json(request)
    if form is None:
        return Response(f"this page is available as {', '.join(FORMS)}\n", 406, mimetype=TEXT)
    titles = wanted.titles if form else _chosen(wanted.titles, request.args.get("fields", ""))
    node_id = request.args.get("node_id", "") if wanted is NODES else ""
    if titles is wanted.titles and not node_id:
        # Only the answers without parameters are cached: there are too many others.
        body = snapshot.remembered(
            (wanted.path, form),
            lambda: _body(_all_rows(wanted, snapshot), titles, snapshot.now, form),
            roots=wanted.roots,
        )
    else:
        rows = _one_node(snapshot, node_id) if node_id else _all_rows(wanted, snapshot)
        body = _body(rows, titles, snapshot.now, form)
    response = Response(body.data, content_type=JSON if form else f"{TEXT}; charset=UTF-8")
    response.set_etag(body.etag)
    response.headers["Access-Control-Allow-Origin"] = "*"
    response.cache_control.public = True
    response.cache_control.max_age = FRESH
    response.vary.add("Accept")
    response.last_modified = datetime.fromtimestamp(int(body.made), UTC)
    response.expires = datetime.fromtimestamp(int(body.made) + FRESH, UTC)
    return response


def _all_rows(wanted: Listing, snapshot: Snapshot) -> list[Row]:
    return snapshot.remembered(
        (wanted.path, "rows"), lambda: wanted.rows(snapshot.reading, snapshot.now), roots=wanted.roots
    )


def _one_node(snapshot: Snapshot, node_id: str) -> list[Row]:
    found = snapshot.reading.one(f"{paths.NODES}/{node_id}") if "/" not in node_id else None
    return [node_row(found, snapshot.now)] if found is not None and found.problem is None else []


def _chosen(titles: Mapping[str, str], fields: str) -> Mapping[str, str]:
    """Return the requested columns, in the order of the table; all columns when none is requested."""
    names = set(fields.split(","))
    return {key: title for key, title in titles.items() if key in names} if fields else titles


def _body(rows: list[Row], titles: Mapping[str, str], now: float, as_json: bool) -> Body:
    data = (json.dumps(rows) if as_json else text_table(titles, rows, now)).encode("utf-8", "replace")
    return Body(data, hashlib.sha256(data).hexdigest()[:32], now)


ROUTES = tuple(Route(each.path, partial(listing, each)) for each in LISTINGS)
