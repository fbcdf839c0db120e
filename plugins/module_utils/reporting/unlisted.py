# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the lists of clouds with the node records: which live nodes does a cloud not show? No I/O.

nova answers 200 without the servers of a cell that is away (its setting ``list_records_by_skipping_down_cells``), so a
short list alone says nothing. A record in ZooKeeper whose server is not in it shows that the list is partial.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from .hosts import LIVE_STATES, RECORD_KEYS, Selection, is_leaving

MOST_NAMED = 5


def contradictions(
    rows: Sequence[Mapping[str, Any]], records: Iterable[Mapping[str, Any]], selection: Selection
) -> list[Mapping[str, Any]]:
    """Return the records of chosen live nodes whose servers are not in *rows*, or are being deleted there.

    :param rows: rows of all listed servers of the providers of *records*.
    """
    listed = {row["server_id"]: row for row in rows}
    found = []
    for record in records:
        if record["state"] not in LIVE_STATES or not record["external_id"]:
            continue
        row = listed.get(record["external_id"])
        if (row is None or is_leaving(row)) and selection.takes(row_of(record)):
            found.append(record)
    return found


def by_source(
    lists: Mapping[str, Sequence[Mapping[str, Any]]],
    providers: Mapping[str, Collection[str]],
    records: Sequence[Mapping[str, Any]],
    selection: Selection,
) -> dict[str, list[dict[str, Any]]]:
    """Return the :func:`contradictions` by the name of the source; sources without any are left out.

    :param lists: the rows by the name of their source.
    :param providers: names of the providers by the name of their source.
    """
    missing: dict[str, list[dict[str, Any]]] = {}
    for name, rows in lists.items():
        own = [record for record in records if record["provider"] in providers[name]]
        found = contradictions(rows, own, selection)
        if found:
            missing[name] = [dict(record) for record in found]
    return missing


def row_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a node whose server no cloud shows: all that the record says, ``status`` and times unknown."""
    private, public = record["private_ipv4"], record["public_ipv4"]
    addresses = [
        {"network": "", "address": address, "version": version, "floating": floating}
        for address, version, floating in (
            (public if public != private else "", 4, True),
            (private, 4, False),
            (record["public_ipv6"], 6, False),
        )
        if address
    ]
    return {
        "name": record.get("hostname") or f"np{record['id']}",
        "server_id": record["external_id"],
        "status": "",
        "task_state": "",
        "provider": record["provider"],
        "node_id": record["id"],
        "pool": record["pool"],
        "label": record["label"],
        "image": "",
        "az": record["az"],
        "created": "",
        "addresses": addresses,
        "metadata": {},
        **{key: record.get(key) for key in RECORD_KEYS},
    }


def text_of(missing: Sequence[Mapping[str, Any]]) -> str:
    """Return the sentence about these nodes; at most MOST_NAMED are named."""
    named = [
        f"{record['id']} ({record['provider']}, server {record['external_id']})" for record in missing[:MOST_NAMED]
    ]
    more = len(missing) - MOST_NAMED
    rest = f" and {more} more" if more > 0 else ""
    return (
        "clouds did not list the servers of live nodes, or list them as being deleted:"
        f" {', '.join(named)}{rest}. Check that all cells of nova answer"
    )
