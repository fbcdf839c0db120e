# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents that anybody may have written: every listing goes on, as JSON that any parser reads."""

from __future__ import annotations

import json

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info import node_rows, status
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.explain import (
    explanation,
    launch_path,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.labels import label_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.lease_rows import lease_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.providers import provider_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.request_rows import request_rows
from tests.support import odd_documents, populated_tree
from tests.support.effort import EFFORT
from tests.support.tree_reading import NOW, reading_of

CONFIG = parse_config('{"zookeeper-servers": [{"host": "localhost"}], "labels": []}')
SEEDS = range(int(60 * EFFORT))
WIDTH = 80


def every_document():
    """Those of the populated tree and those of the launcher's own tests."""
    return {**odd_documents.documents(NOW, populated_tree.EAST), **populated_tree.documents(NOW)}


def spoilt_reading(seed):
    spoiler = odd_documents.Spoiler(seed)
    whole = {
        path: spoiler.data(document) if isinstance(document, dict) and spoiler.chance.random() < 0.5 else document
        for path, document in every_document().items()
    }
    return reading_of(whole, populated_tree.locks())


def told(reading):
    """What all modules return."""
    requests, found = request_rows(reading, NOW), list(reading.below(paths.NODES))
    explanations = [explanation(reading, requests, row["id"], NOW) for row in requests]
    rows = node_rows.node_rows(found, node_rows.NodeFilter(), NOW, detail=True)
    lives = [node_rows.node_life(node, reading.one(launch_path(node.name)), NOW) for node in found]
    (tombstone,) = node_rows.tombstone_paths(odd_documents.GONE, ["east"])
    gone = node_rows.gone_life(reading.one(tombstone), NOW)
    lines = [
        *status.status_lines(CONFIG, reading, NOW, WIDTH),
        *(line for item in explanations for line in status.request_lines(item, WIDTH)),
        *(line for row, life in zip(rows, lives, strict=True) for line in status.node_lines(row, life, WIDTH)),
        *status.gone_lines(odd_documents.GONE, gone, WIDTH),
    ]
    listings = (provider_rows(CONFIG, reading, NOW), label_rows(CONFIG, reading, NOW), lease_rows(reading, NOW))
    return {"rows": [requests, explanations, rows, lives, gone, *listings], "lines": lines}


def _is_odd(reading, node_id):
    """Whether the row of a node, without its detail, has problems."""
    (row,) = node_rows.node_rows([reading.one(f"{paths.NODES}/{node_id}")], node_rows.NodeFilter(), NOW, detail=False)
    return bool(row["problems"])


@pytest.mark.parametrize("seed", SEEDS)
def test_no_document_ends_a_listing(seed):
    reading = spoilt_reading(seed)
    result = told(reading)
    json.dumps(result, allow_nan=False)
    requests, _explanations, rows, *_others = result["rows"]
    assert [row["id"] for row in rows] == reading.names(paths.NODES)
    odd = filter(None, reading.facts(paths.NODES, node_rows.odd_row))
    assert [row["id"] for row in odd] == [row["id"] for row in rows if _is_odd(reading, row["id"])]
    assert {row["id"] for row in requests} == set(reading.names(paths.REQUESTS))
    assert all(len(line) <= WIDTH and line.isprintable() for line in result["lines"])


def test_the_damage_is_told():
    """The sample does reach the rows: sound documents have fewer problems."""
    sound = told(reading_of(every_document(), populated_tree.locks()))["rows"]
    spoilt = [told(spoilt_reading(seed))["rows"] for seed in range(3)]
    assert all(len(str(rows)) != len(str(sound)) for rows in spoilt)
