# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.model.bounded_text import is_printable
from ansible_collections.stackci.nodepool.plugins.module_utils.model.component import PoolComponent
from ansible_collections.stackci.nodepool.plugins.module_utils.model.documents import (
    LARGEST_DOCUMENT,
    copied,
    dump,
    mapping,
    parse,
    seconds,
    text,
    whole,
    whole_or_zero,
    why_unreadable,
    words,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Build, Upload
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import NodeRequest

KINDS = [Node, NodeRequest, Build, Upload, PoolComponent]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("item", "read"),
    [("x", True), ("é", False), ("€", False), ("😀", False), ("\u007f", False), (1e15, False), (17, True)],
)
def test_a_document_that_would_be_too_large_when_it_is_written_again_is_not_used(item, read):
    """Another client may write characters beyond ASCII as they are, and numbers as 1e15."""
    one = json.dumps(item, ensure_ascii=False).encode().replace(b"1000000000000000.0", b"1e15")
    data = b'{"a":[' + b",".join([one] * (890_000 // (len(one) + 1))) + b"]}"
    assert (parse(data) is not None) is read
    assert ("safely" in (why_unreadable(data) or "")) is not read


@given(JSON)
def test_what_is_read_of_a_document_can_be_written_again(value):
    data = json.dumps({"a": [value] * 3000}, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    document = parse(data)
    assert document is None or len(dump(document)) <= LARGEST_DOCUMENT


@pytest.mark.parametrize("data", [b"", None, b"{", b"[]", b"3", b'"x"', b"null", b"\xff\xfe", b"[" * 100_000])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_object_is_none(kind, data):
    assert kind.from_bytes("x", data) is None


ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("written", ['{"a": 1}', ' {"a": 1}', '{"a": 1}\n', '{"a":"\u20ac"}'])
def test_every_encoding_of_json_is_read(encoding, written):
    assert parse(written.encode(encoding)) == json.loads(written)


@pytest.mark.parametrize("data", [b'{"a": 1} {}', b'{"a": 1}x', b'{"a": 1', b"{\0}", b'{"a": "\xff"}'])
def test_what_is_nearly_json_is_none(data):
    assert parse(data) is None


def test_formats_are_read_in_the_order_in_which_they_are_written():
    read = Build.from_bytes("0000000001", b'{"formats": "raw,qcow2"}')
    assert read.formats == ["qcow2", "raw"] and read.to_document()["formats"] == "qcow2,raw"


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_a_foreign_document_never_raises_and_can_be_written_back(kind, data):
    keys = st.sampled_from(sorted(kind.KEYS)) | st.text(max_size=5)
    document = data.draw(st.dictionaries(keys, JSON, max_size=12))
    stored = json.dumps(document).encode()
    read = kind.from_bytes("0000000001", stored, 7)
    again = kind.from_bytes("0000000001", read.to_bytes(), 7)
    assert again == read
    assert again.version == 7


@pytest.mark.parametrize("kind", KINDS)
@given(extra=st.dictionaries(st.text(max_size=8).map("x-".__add__), JSON, max_size=4))
def test_unknown_keys_come_back_unchanged(kind, extra):
    read = kind.from_bytes("x", json.dumps(extra).encode())
    extra = kind.from_bytes("y", json.dumps(extra).encode()).extra
    assert read.extra == extra
    written = json.loads(read.to_bytes())
    assert {key: written[key] for key in extra} == extra


@pytest.mark.parametrize("kind", KINDS)
def test_a_clone_is_equal_and_independent(kind):
    document = {key: ["a", {"b": [1]}] for key in kind.KEYS} | {"mine": {"a": [1]}, "attributes": {"a": {}}}
    one = kind.from_bytes("1", json.dumps(document).encode(), 3)
    other = one.clone()
    assert other == one
    assert other is not one
    for name, value in vars(other).items():
        if isinstance(value, (list, dict)):
            assert value is not getattr(one, name), name
    other.extra["mine"]["a"].append(2)
    assert one.extra["mine"] == {"a": [1]}


def test_an_empty_list_is_not_shared_by_clones():
    one = Node()
    one.clone().host_keys.append("x")
    one.clone().extra["k"] = 1
    assert one.host_keys == []
    assert one.extra == {}


def test_a_document_does_not_share_its_lists_with_the_bytes_it_was_read_from():
    document = {"type": ["a"], "host_keys": []}
    one, other = Node.from_document("1", document), Node.from_document("2", document)
    one.type.append("b")
    one.host_keys.append("k")
    assert other.type == ["a"]
    assert other.host_keys == []
    assert Node.from_document("3", {}).host_keys == []


def test_documents_are_utf8_and_survive_lone_surrogates():
    data = dump({"comment": "ü \ud800"})
    assert json.loads(data) == {"comment": "ü \ud800"}
    assert parse(data) == {"comment": "ü \N{REPLACEMENT CHARACTER}"}
    data.decode("utf-8")


HOSTILE = "small\x1b[31m\n<3>forged\u202e\u200b"


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read_is_harmless_and_what_is_written_back_is_unchanged(kind):
    document: dict[str, Any] = dict.fromkeys(kind.KEYS, HOSTILE) | {
        "unknown": HOSTILE,
        "state": "ready",
        "type": [HOSTILE, "a"],
    }
    document |= {"node_types": [HOSTILE, "a"], "requestor_data": {HOSTILE: [HOSTILE]}, "state_time": -1e15}
    read = kind.from_bytes("1", json.dumps(document).encode())
    told = repr({key: value for key, value in vars(read).items() if key not in ("extra", "written")})
    assert is_printable(told)
    assert "\\" not in told
    again = json.loads(read.to_bytes())
    for key in document.keys() & again.keys():
        numeric = kind.KEYS.get(key) in (whole, whole_or_zero, seconds, mapping)
        assert again[key] == document[key] or (numeric and document[key] == HOSTILE) or key == "reuse", key


def test_what_was_changed_is_written_as_it_was_set():
    read = NodeRequest.from_bytes("1", json.dumps({"declined_by": [HOSTILE], "requestor": HOSTILE}).encode())
    read.declined_by.append("us")
    read.requestor = "we"
    written = json.loads(read.clone().to_bytes())
    assert (written["declined_by"], written["requestor"]) == ([HOSTILE, "us"], "we")


def test_numbers_that_json_does_not_know_become_null():
    assert parse(b'{"a": NaN, "b": [Infinity, -Infinity]}') == {"a": "NaN", "b": ["Infinity", "-Infinity"]}


@pytest.mark.parametrize(
    ("read", "value", "expected"),
    [
        (text, "a", "a"),
        (text, 7, "7"),
        (text, True, None),
        (text, ["a"], None),
        (words, "small", ["small"]),
        (words, ["a", 1, None, ["b"]], ["a", "1"]),
        (words, {"a": 1}, []),
        (seconds, "1.5", 1.5),
        (seconds, 3, 3.0),
        (seconds, True, None),
        (seconds, "soon", None),
        (seconds, 1e999, None),
        (whole, "22", 22),
        (whole, 22.0, 22),
        (whole, "22a", None),
        (whole, None, None),
    ],
)
def test_readers(read, value, expected):
    assert read(value) == expected
    assert type(read(value)) is type(expected)


@pytest.mark.parametrize(
    ("kind", "state"), [(Node, "held"), (NodeRequest, "ready"), (Build, "uploading"), (Upload, "")]
)
def test_there_are_no_other_states(kind, state):
    record = kind()
    with pytest.raises(ValueError, match="not a state"):
        record.set_state(state, 1.0)


def test_the_time_is_renewed_even_when_the_state_stays():
    node = Node()
    node.set_state("ready", 1.0)
    node.set_state("ready", 2.5)
    assert (node.state, node.state_time) == ("ready", 2.5)


def test_copied_is_deep():
    value = {"a": [{"b": 1}]}
    twin = copied(value)
    twin["a"][0]["b"] = 2
    assert value == {"a": [{"b": 1}]}
