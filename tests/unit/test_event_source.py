# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the event source, its page and the audit query say is what is there."""

from __future__ import annotations

import ast
import json
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from ansible_collections.stackci.nodepool.plugins.module_utils.model.owner import SENTENCES
from ansible_collections.stackci.nodepool.plugins.module_utils.web.events.happenings import (
    ENDINGS,
    ONCE,
    SEVERITIES,
    TYPES,
    severity,
)
from ansible_collections.stackci.nodepool.plugins.plugin_utils.events.source import ALIASES, KNOWN, NUMBERS, checked

ROOT = Path(__file__).resolve().parents[2]
EXTENSIONS = ROOT / "extensions"
SOURCE = EXTENSIONS / "eda" / "plugins" / "event_source" / "nodepool.py"
FILTER = EXTENSIONS / "eda" / "plugins" / "event_filter" / "choose.py"
PAGE = (ROOT / "docs" / "events.md").read_text("utf-8")
QUERIES = yaml.safe_load((EXTENSIONS / "audit" / "event_query.yml").read_text("utf-8"))


def documentation(name="DOCUMENTATION", path=SOURCE):
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name:
            return yaml.safe_load(ast.literal_eval(node.value))
    raise AssertionError(f"{path} has no {name}")


def test_the_documented_options_are_the_arguments():
    options = documentation()["options"]
    aliases = {alias: name for name, spec in options.items() for alias in spec.get("aliases", [])}
    assert {*options, *aliases} == set(KNOWN)
    assert aliases == ALIASES
    assert {name: spec["default"] for name, spec in options.items() if name in NUMBERS} == NUMBERS
    for name, spec in options.items():
        assert f"`{name}`" in PAGE, name
        assert spec.get("default", checked({}).get(name)) == checked({}).get(name)


def test_each_type_is_documented():
    told = " ".join(documentation()["description"])
    assert [kind for kind in TYPES if f"C({kind})" not in told] == []
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    for first, last in ENDINGS.items():
        assert any(row.startswith(f"| `{first}` | `{last}` |") for row in rows), first
    assert [kind for kind in ONCE if not any(f"`{kind}`" in row.split("|")[1] for row in rows)] == []


def test_the_filter_knows_the_severities_and_its_options_are_documented():
    module = runpy.run_path(str(FILTER))
    options = documentation(path=FILTER)["options"]
    assert set(options) == {*module["FIELDS"], "severity", "strict"}
    assert tuple(options["severity"]["choices"]) == module["SEVERITIES"] == SEVERITIES
    assert [name for name in (*options, *SEVERITIES) if f"`{name}`" not in PAGE] == []
    assert {*module["KNOWN"]["types"]} == {*TYPES} and {*module["KNOWN"]["owners"]} == {*SENTENCES}
    assert {severity(kind) for kind in TYPES} == set(SEVERITIES)
    assert {begun: severity(begun) for begun in ENDINGS} == {begun: severity(end) for begun, end in ENDINGS.items()}
    for kind in TYPES:
        assert f"`{kind}`" in PAGE


def test_the_fields_that_the_filter_looks_at_are_those_of_events():
    told = {name for line in PAGE.splitlines() for name in re.findall(r"`(\w+)`", line)}
    assert set(runpy.run_path(str(FILTER))["FIELDS"].values()) <= told


def test_each_owner_is_on_the_page():
    (line,) = re.findall(r"responsible: (.*?)\.\n", PAGE, re.S)
    assert set(re.findall(r"`([\w-]+)`", line)) == set(SENTENCES)


def test_the_rulebooks_use_known_arguments_and_types():
    found = sorted((EXTENSIONS / "eda" / "rulebooks").glob("*.yml"))
    assert [path.stem for path in found] == ["hold_failed_node", "open_ticket"]
    for path in found:
        for ruleset in yaml.safe_load(path.read_text("utf-8")):
            given = [
                source["stackci.nodepool.nodepool"]
                for source in ruleset["sources"]
                if "stackci.nodepool.nodepool" in source
            ]
            assert given
            for arguments in given:
                assert set(arguments) <= set(KNOWN) and set(arguments["types"]) <= set(TYPES)


@pytest.mark.parametrize("module", QUERIES)
def test_the_audit_query_finds_the_nodes_of_what_the_module_returns(module):
    if shutil.which("jq") is None:
        pytest.skip("there is no jq")
    fields = documentation("RETURN", ROOT / "plugins" / "modules" / f"{module.rpartition('.')[2]}.py")["nodes"][
        "contains"
    ]
    node = {name: spec.get("sample") for name, spec in fields.items()}
    result = json.dumps({"nodes": [node, {**node, "external_id": None}]})
    words = ["jq", "-c", QUERIES[module]["query"]]
    done = subprocess.run(words, input=result, capture_output=True, text=True, timeout=60, check=True)
    (found,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert found["canonical_facts"] == {"id": node["external_id"], "host_name": node["hostname"]}
    assert found["name"] and found["facts"]["device_type"] == "VM"
