# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The border: whatever stands in the documents of the tree, no screen fails and nothing hostile reaches one."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from ansible_collections.stackci.nodepool.plugins.module_utils.model.bounded_text import is_printable
from ansible_collections.stackci.nodepool.plugins.module_utils.model.foreign import returned
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lease import lease_of
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lines import Trouble
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import NodeRequest
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.hosts import (
    Selection,
    all_known_hosts,
    enriched,
    hosts,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.status import status_lines
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.node_access_rows import node_row, refusals
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.unlisted import row_of
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.progress import Progress
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop import log
from tests.support import odd_documents, populated_tree
from tests.support.effort import EFFORT
from tests.support.tree_reading import NOW
from tests.support.web_case import WebCase
from tests.unit.plugins.module_utils.reporting.info.test_odd_rows import CONFIG, told
from tests.unit.plugins.module_utils.web.server.test_hostile_documents import PATHS

TEXTS = (
    "\x1b[2J\x1b]0;owned\x07",
    "\x9b31m\x90\x85",
    "a\n<3>forged: all is well\r",
    "\u2028\u2029\x0b\x0c\x1c",
    "\u202eevil\u202c \u2066x\u2069 \u200f\u061c",
    "\u200b\u200d\u2060\ufeff\u00ad\u3164\u115f\ufe0f\U000e0041",
    "\ud800\udfff\U0010ffff\ue000",
    "\0",
    "{{ lookup('pipe', 'touch evil') }}{% raw %}",
    "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>",
    'x"} 1\nforged_metric{a="',
    "../../requests/%2e%2e",
    "-oProxyCommand=id",
    "x" * 20_000,
)
TIMES = (-1e15, 1e308, -1e308, 10**400, -(2**70), "1e15", 0, -1)
NAMES = ("\u202e", "\u200b", "\u3164", "x" * 3000)
"""Parts of names of znodes that ZooKeeper allows."""
STRANGE = st.characters(categories=["Cc", "Cf", "Cs", "Zl", "Zp", "Zs", "Co"])
HOSTILE = st.sampled_from(TEXTS) | st.text(STRANGE, min_size=1)


def poisoned(value: Any, text: str, time: Any, chance: Any) -> Any:
    """The document with a hostile text in many of its values and some of its keys."""
    if isinstance(value, dict):
        return {
            (key + text if chance.random() < 0.05 else key): poisoned(item, text, time, chance)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [*(poisoned(item, text, time, chance) for item in value), *([text] if chance.random() < 0.1 else [])]
    if isinstance(value, str) and chance.random() < 0.4:
        return text if chance.random() < 0.5 else value + text
    if isinstance(value, int | float) and not isinstance(value, bool) and chance.random() < 0.3:
        return time
    return value


def poisoned_tree(text: str, time: Any, name: str, chance: Any) -> dict[str, Any]:
    """Every kind of document, poisoned; some of them under a hostile name as well."""
    found = {**odd_documents.documents(NOW, populated_tree.EAST), **populated_tree.documents(NOW)}
    tree = {}
    for path, document in found.items():
        tree[path] = poisoned(document, text, time, chance)
        if chance.random() < 0.3:
            tree[path + name] = poisoned(document, text, time, chance)
    return tree


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for pair in value.items():
            yield from texts(list(pair))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts(item)


def assert_harmless(value: Any, *, breaks: bool = False) -> None:
    """Check all texts in *value*; *breaks*: True: they are made of several lines."""
    for text in texts(value):
        for line in text.split("\n") if breaks else [text]:
            assert is_printable(line), ascii(line[:300])


TREES = st.builds(
    poisoned_tree,
    HOSTILE,
    st.sampled_from(TIMES),
    st.sampled_from(NAMES),
    st.builds(random.Random, st.integers(0, 2**32)),
)
FEW = settings(
    max_examples=max(15, int(60 * EFFORT)), deadline=None, suppress_health_check=list(HealthCheck), database=None
)


@FEW
@given(TREES)
def test_modules_and_the_status_screen(tree):
    case = WebCase(tree, populated_tree.locks())
    found = told(case.picture.snapshot().reading)
    json.dumps(found, allow_nan=False)
    assert_harmless(found)


@FEW
@given(TREES)
def test_pages_lists_and_metrics(tree):
    case = WebCase(tree, populated_tree.locks())
    for path in PATHS:
        answer = case.get(path)
        assert answer.status_code in (200, 503), path
        assert_harmless(answer.get_data(as_text=True), breaks=True)
        assert "<script>alert" not in answer.text or answer.mimetype == "text/plain"
        if path.endswith("-list") or path == "/image-status":
            rows = case.get(path, Accept="application/json")
            assert rows.status_code == 200
            assert_harmless(rows.json)
    for family in text_string_to_metric_families(case.get("/metrics").text):
        assert family.name.startswith(("stackci_nodepool_",))
        assert len(family.samples) < 5000


def test_states_that_nobody_knows_are_counted_together():
    """Each of them could otherwise be another line of every screen and another series of the metrics."""
    known = {"state": "ready", "state_time": NOW, "type": ["small"], "provider": "east", "pool": "main"}
    tree = {f"/nodepool/nodes/{number:010d}": {**known, "state": f"strange{number}"} for number in range(300)}
    tree |= {
        f"/nodepool/requests/100-{number:010d}": {"state": f"odd{number}", "node_types": []} for number in range(300)
    }
    case = WebCase(tree)
    lines = status_lines(CONFIG, case.picture.snapshot().reading, NOW, 80)
    assert "NODES 300 unknown" in lines
    assert "REQUESTS 300 unknown" in lines
    assert len(lines) < 60
    told = case.get("/metrics").text + case.get("/").text.partition("h-odd")[0]
    assert "strange" not in told and 'state="odd' not in told


CONNECTION = re.compile(r"[\w.:@+%\\/ $()-]*")


@FEW
@given(TREES, st.booleans())
def test_variables_of_hosts(tree, listed):
    nodes = [
        node
        for path, document in tree.items()
        if path.startswith("/nodepool/nodes/") and "/lock" not in path
        if (node := Node.from_bytes(path.rpartition("/")[2], _data(document))) is not None
    ]
    records = [{**node_row(node, CONFIG), "tenant": node.tenant_name, "lease": lease_of(node)} for node in nodes]
    # A name that is taken or reserved gets the id of the server, which a record may name as well.
    rows = [row_of({**record, "external_id": record["external_id"] or "s"}) for record in records * 2]
    found = hosts(enriched(rows, records) if listed else rows, Selection(statuses=["ACTIVE"]), known_hosts="/k")
    for host in found:
        assert_harmless([host.name, host.variables])
        assert CONNECTION.fullmatch(host.name) and not host.name.startswith("-")
        plain = {key: value for key, value in host.variables.items() if key.startswith("ansible_")}
        plain.pop("ansible_ssh_common_args", None)
        assert all(CONNECTION.fullmatch(str(value)) and str(value)[:1] != "-" for value in plain.values())
        assert plain.get("ansible_connection", "ssh") in ("ssh", "winrm", "psrp")
    assert_harmless(all_known_hosts(found), breaks=True)
    assert_harmless([sentence for node in nodes for sentence in refusals(node, CONFIG)])


def _data(document: Any) -> bytes:
    return document if isinstance(document, bytes) else json.dumps(document).encode()


@FEW
@given(HOSTILE)
def test_lines_of_progress_and_of_the_journal(tmp_path_factory: pytest.TempPathFactory, text: str):
    path: Path = tmp_path_factory.mktemp("progress") / "lines"
    Progress(str(path), clock=lambda: NOW).line(Trouble(f"request {text} waits", event_id=text, node=text))
    (written,) = path.read_text().splitlines()
    entry = json.loads(written)
    assert_harmless(entry)
    raw = {**entry, "line": text, "event_id": text}  # by a cycle of an older version
    for document in (entry, raw):
        for style in log.FORMATS:
            line = log.rendered(log.Entry.of_cycle(document, 1), "launcher", style)
            assert_harmless(line)


@FEW
@given(HOSTILE)
def test_what_the_loop_writes_is_one_entry_of_the_journal(text: str):
    with pytest.MonkeyPatch.context() as patch:
        printed: list[str] = []
        patch.setenv("JOURNAL_STREAM", "8:1")
        patch.setattr("builtins.print", lambda line, **_how: printed.append(line))
        log.write(log.ERROR, f"it failed: {text}")
    assert len(printed) == 1 and printed[0].startswith("<3>it failed: ")
    assert_harmless(printed)


@FEW
@given(st.recursive(HOSTILE, lambda inner: st.lists(inner) | st.dictionaries(HOSTILE, inner), max_leaves=5))
def test_what_a_module_returns(value):
    for text in texts(returned(value)):
        assert all(map(is_printable, re.split(r"[\n\t]", text)))


@FEW
@given(TREES)
def test_zuul_finds_what_it_wrote(tree):
    kinds: dict[str, type[Node | NodeRequest]] = {"nodes": Node, "requests": NodeRequest}
    for path, document in tree.items():
        kind = kinds.get(path.split("/")[2])
        read = kind.from_bytes("0000000001", _data(document)) if kind else None
        if kind is None or read is None or not isinstance(document, dict):
            continue
        given_back = json.loads(read.to_bytes())
        for key, value in document.items():
            if isinstance(value, str) and kind.KEYS.get(key) and isinstance(getattr(read, key), str):
                assert given_back[key] == json.loads(json.dumps(value)), key
