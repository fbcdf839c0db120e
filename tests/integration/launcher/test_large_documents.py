# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents of others near ZooKeeper's limit of one request: they are set aside and told, and all else goes on."""

from __future__ import annotations

import json
import time

from tests.support.ansible_run import ROOT, command

LARGE = 1_040_000
"""Bytes. The requestor can write it; with a lock or a new state in the same request it would be too much."""


def large(**fields) -> bytes:
    document = {"state_time": time.time(), "requestor_data": "", **fields}
    document["requestor_data"] = "x" * (LARGE - len(json.dumps(document)))
    return json.dumps(document).encode()


def test_a_request_and_a_node_near_the_limit_stop_nobody(site):
    site.configure()
    requestor = site.requestor
    request = "/nodepool/requests/200-9999999999"
    requestor.put(request, large(node_types=["small"], state="requested", requestor="greedy", declined_by=[], nodes=[]))
    node = "/nodepool/nodes/0999999999"
    requestor.put(node, large(state="used", provider="one", pool="main", type=["small"], external_id=None))
    others = [requestor.ask("small") for _unused in range(3)]
    variables = site.variables(launcher_duration=60)
    playbook = ROOT / "playbooks" / "launcher.yml"
    done = command("ansible-playbook", playbook, "-e", variables, folder=site.folder)
    said = f"{done.stdout}\n{done.stderr}"
    assert done.returncode == 0, said
    assert [requestor.state(ident) for ident in others] == ["fulfilled"] * 3
    for path in (request, node):
        assert f"{path} is ignored and not changed: it has {LARGE} bytes" in said
        assert len(requestor.client.get(path)[0]) == LARGE


def test_a_document_that_would_be_too_large_when_it_is_written_again_stops_nobody(site):
    """It has 890 kB with characters beyond ASCII as they are, as another client may write them."""
    site.configure()
    requestor = site.requestor
    text = "\u00e9" * 440_000
    paths = {"/nodepool/nodes/0999999999": {"state": "used", "provider": "one", "pool": "main", "type": ["small"]}}
    paths["/nodepool/requests/200-9999999999"] = {"state": "requested", "node_types": ["small"], "requestor": "greedy"}
    for path, fields in paths.items():
        document = {"state_time": time.time(), "requestor_data": text, **fields}
        requestor.put(path, json.dumps(document, ensure_ascii=False).encode())
    other = requestor.ask("small")
    variables = site.variables(launcher_duration=60)
    done = command("ansible-playbook", ROOT / "playbooks" / "launcher.yml", "-e", variables, folder=site.folder)
    said = f"{done.stdout}\n{done.stderr}"
    assert done.returncode == 0, said
    assert requestor.state(other) == "fulfilled"
    assert all(f"{path} is ignored and not changed: it has 880" in said for path in paths), said


def test_a_long_chain_of_znodes_below_a_node_stops_nobody(site):
    """Their paths are 12 MB in all: more than a request takes that deletes the node with all below it."""
    site.configure()
    requestor = site.requestor
    node = requestor.make_node("used")
    # Few of long names: what ZooKeeper does for a chain grows with the cube of its depth.
    below = [f"{'n' * 10_000}{depth}" for depth in range(50)]
    requestor.client.create("/".join([f"/nodepool/nodes/{node}", *below]), b"", makepath=True)
    request = requestor.ask("small")
    variables = site.variables(launcher_duration=60)
    done = command("ansible-playbook", ROOT / "playbooks" / "launcher.yml", "-e", variables, folder=site.folder)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert requestor.state(request) == "fulfilled"
    requestor.wait_gone([node])
