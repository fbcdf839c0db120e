# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The endpoints answer as Nodepool 11.0.0's web service did on the same tree (``record_stock_webapp.py``)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.model.foreign import cleaned
from ansible_collections.stackci.nodepool.plugins.module_utils.web.nodepool_rows import LISTINGS
from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.application import Visitors
from tests.support import populated_tree
from tests.support.web_case import WebCase

RECORD = json.loads((Path(__file__).parents[4] / "replays" / "stock_webapp.json").read_text("utf-8"))
ANSWERS = [answer for answer in RECORD["answers"] if answer["path"] not in ("/ready", "/nowhere")]
NOTHING_CHOSEN = "/node-list?fields=nonsense"
"""A table without columns, for which there is no right form."""
PAUSED = ("arch", "debian")
"""Nodepool's command line says "paused" for the builds of these. Its web service does so only where the image was
paused after the launcher had started."""
TWO_LINES = re.compile(r"(\| )first {7}( +\|.*)\n[ |]* second +\|[ |]*")
"""A comment of two lines in the recorded answers; here each text is on one line."""
AGE_OF_REQUEST = re.compile(r"(pending|building) +\| [-:0-9]+")
LIST_PATHS = [each.path for each in LISTINGS]
NODE = f"{paths.NODES}/0000000001"


def recorded() -> WebCase:
    """The tree of the record at its time."""
    documents = {path: b"" if document == "" else document for path, document in RECORD["tree"].items()}
    case = WebCase(documents, RECORD["locks"], visitors=Visitors(cross_origin=True))
    case.now = float(RECORD["now"])
    return case


def name(answer: Any) -> str:
    return f"{answer['path']} {answer['accept']}"


def answer_to(stock: Any) -> Any:
    headers = {} if stock["accept"] is None else {"Accept": stock["accept"]}
    return recorded().get(stock["path"], **headers)


@pytest.mark.parametrize("stock", [each for each in ANSWERS if each["status"] == 200], ids=name)
def test_status_and_headers_are_those_of_nodepool(stock):
    ours = answer_to(stock)
    assert ours.status_code == 200
    told = {key.lower(): value for key, value in ours.headers.items()}
    names = ("content-type", "access-control-allow-origin", "last-modified", "expires")
    assert {key: told[key] for key in names} == {key: stock["headers"][key] for key in names}
    for headers in (told, stock["headers"]):
        assert set(headers["cache-control"].split(", ")) == {"public", "max-age=1"}


@pytest.mark.parametrize(
    "stock", [each for each in ANSWERS if each["headers"]["content-type"] == "application/json"], ids=name
)
def test_json_is_that_of_nodepool_field_by_field(stock):
    def comparable(rows: list[dict[str, Any]]) -> list[Any]:
        found = []
        for row in rows:
            if row.get("build_request_age"):
                row = {**row, "build_request_age": "the znode's own time"}
            if row.get("builder") and row["image"] in PAUSED:
                row = {**row, "state": "see PAUSED"}
            found.append(list(row.items()))
        return sorted(found, key=str)

    assert comparable(answer_to(stock).json) == comparable(cleaned(json.loads(stock["body"])))


@pytest.mark.parametrize(
    "stock",
    [each for each in ANSWERS if "charset" in each["headers"]["content-type"] and each["path"] != NOTHING_CHOSEN],
    ids=name,
)
def test_text_is_that_of_nodepool_line_by_line(stock):
    def comparable(body: str) -> list[str]:
        lines = TWO_LINES.sub(r"\1first second\2", body).split("\n")
        if stock["path"] == "/dib-image-list":
            # Their state is part of the width of a column.
            kept = [line for line in lines if not any(f" {image} " in line for image in PAUSED)]
            lines = [re.sub(r"([ -])\1+", r"\1", line) for line in kept]
        return [AGE_OF_REQUEST.sub(r"\1 (the znode's own time)", line) for line in lines]

    ours, theirs = comparable(answer_to(stock).text), comparable(stock["body"])
    assert ours[:3] == theirs[:3]
    assert sorted(ours) == sorted(theirs)


def test_the_builds_of_a_paused_image_say_so():
    rows = recorded().get("/dib-image-list", Accept="application/json").json
    assert {row["image"] for row in rows if row["state"] == "paused"} == set(PAUSED)


def test_an_accept_header_that_takes_none_of_the_forms_is_406_and_not_a_failure():
    (stock,) = [answer for answer in ANSWERS if answer["status"] == 500]
    ours = answer_to(stock)
    assert ours.status_code == 406
    assert "application/json" in ours.text


@pytest.mark.parametrize("path", LIST_PATHS)
@pytest.mark.parametrize("accept", ["application/json", "text/plain"])
def test_no_document_of_others_breaks_a_list(path, accept):
    answer = WebCase().get(path, Accept=accept)
    assert answer.status_code == 200
    assert populated_tree.NOT_JSON not in answer.text


@pytest.mark.parametrize("path", LIST_PATHS)
def test_an_empty_tree_is_an_empty_list(path):
    case = WebCase({})
    assert case.get(path, Accept="application/json").json == []
    lines = case.get(path).text.split("\n")
    assert len(lines) == 4
    assert lines[0] == lines[2] == lines[3]


def test_what_has_not_changed_is_304_by_etag_and_by_time():
    case = recorded()
    first = case.get("/node-list")
    assert case.get("/node-list", If_None_Match=first.headers["ETag"]).status_code == 304
    assert case.get("/node-list", If_Modified_Since=first.headers["Last-Modified"]).status_code == 304


def test_after_a_change_it_is_sent_again():
    case = WebCase({NODE: {"state": "ready", "type": ["small"]}})
    etag = case.get("/node-list").headers["ETag"]
    case.session.put(NODE, b'{"state": "in-use", "type": ["small"]}')
    answer = case.get("/node-list", If_None_Match=etag)
    assert answer.status_code == 200
    assert "in-use" in answer.text


def test_the_two_forms_have_different_etags():
    case = recorded()
    answers = [case.get("/label-list", Accept=accept) for accept in ("text/plain", "application/json")]
    assert answers[0].headers["ETag"] != answers[1].headers["ETag"]
    assert all("Accept" in answer.headers["Vary"] for answer in answers)


def test_ages_grow_while_nothing_changes():
    case = WebCase({NODE: {"state": "ready", "type": ["small"], "state_time": 0}})
    first = case.get("/node-list?fields=age").text
    case.now += 60
    assert case.get("/node-list?fields=age").text != first


@pytest.mark.parametrize("node_id", ["../requests/100-0000000011", "0000000001/lock", "%00", "*", "", "x" * 1500])
def test_a_hostile_id_finds_nothing_or_everything_that_is_public(node_id):
    rows = WebCase().get(f"/node-list?node_id={node_id}", Accept="application/json").json
    assert rows == [] or not node_id


def test_hostile_fields_are_no_columns():
    answer = WebCase().get("/node-list?fields=" + ",".join(["id", "__class__", "host_keys", "<script>", "'"] * 40))
    assert answer.text.split("\n")[1].strip("| ") == "ID"


def test_what_requestors_write_is_text_and_moves_no_terminal():
    hostile = {"state": "ready", "type": ["<script>alert(1)</script>"], "comment": "\x1b]0;owned\x07\x1b[2J"}
    answer = WebCase({NODE: hostile}).get("/node-list", Accept="text/html")
    assert answer.mimetype == "text/plain"
    assert "\x1b" not in answer.text
    assert "<script>alert(1)</script>" in answer.text


def test_a_port_that_may_be_a_secret_is_redacted():
    token = {"state": "ready", "type": [], "connection_port": {"token": "s3cret"}}
    for accept in ("application/json", "text/plain"):
        answer = WebCase({NODE: token}).get("/node-list", Accept=accept)
        assert "s3cret" not in answer.text
        assert "redacted" in answer.text
