# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A build is revoked and restored by the module, the playbook and the command, against a real ZooKeeper."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.acting.test_acting import MODULES, differences, document, importlib, put, tree
from tests.support.ansible_run import ROOT, command, run_alone
from tests.support.zookeeper_server import HOST

OLD, NEW = "1" * 32, "2" * 32
IMAGES, NODES, PATH = "/nodepool/images", "/nodepool/nodes", "/nodepool/stackci/image-verdicts/debian"


@pytest.fixture
def act(tmp_path, zk_chroot, zk_client):
    """Runs the module on a tree with two builds; three nodes are of the new one."""
    for build, at in ((OLD, 5.0), (NEW, 9.0)):
        put(zk_client, f"{IMAGES}/debian/builds/{build}", json.dumps({"state": "ready", "state_time": at}).encode())
    upload = f"{IMAGES}/debian/builds/{NEW}/providers/west/images/0000000001"
    put(zk_client, upload, json.dumps({"state": "ready", "state_time": 9.0, "external_id": "x"}).encode())
    for number, state, owner in ((1, "ready", None), (2, "ready", "100-0000000001"), (3, "in-use", "100-0000000002")):
        node = {"state": state, "provider": "west", "pool": "main", "type": ["small"], "image_id": upload}
        put(zk_client, f"{NODES}/{number:010d}", json.dumps({**node, "allocated_to": owner}).encode())
    server = zk_chroot.servers[0]
    servers = [{"host": HOST, "port": server.port, "chroot": server.chroot}]
    text = json.dumps({"zookeeper-servers": servers, "labels": [], "providers": []})
    (tmp_path / "nodepool.yaml").write_text(text, "utf-8")

    def run(*, check: bool = False, **options: Any) -> dict[str, Any]:
        given = {"config": "nodepool.yaml", "image": "debian", **options}
        return run_alone("dib_image", given, tmp_path, check=check, diff=True).result

    return run


def test_check_mode_says_what_is_then_done_once(act, zk_client):
    before = tree(zk_client)
    seen = act(state="revoked", reason="no python", check=True)
    assert seen["changed"] and tree(zk_client) == before
    done = act(state="revoked", reason="no python")
    block = importlib.import_module(f"{MODULES}.dib_image").RETURN
    shown = {name: value for name, value in done.items() if name not in ("failed", "invocation", "warnings", "diff")}
    assert differences(block, shown, check=False) == []
    assert (done["changed"], done["build_id"], done["verdict"]["used"]) == (True, NEW, False)
    assert [node["id"] for node in done["deleted"]] == ["0000000001"]
    assert [node["id"] for node in done["in_use"]] == ["0000000002", "0000000003"]
    stored = document(zk_client, PATH)[NEW]
    assert (stored["state"], stored["reason"], stored["by"]) == ("revoked", "no python", "hand")
    assert not act(state="revoked", reason="no python")["changed"]


def test_it_comes_back(act, zk_client):
    act(state="rejected", reason="no python", build_id=OLD)
    back = act(state="restored", build_id=OLD)
    assert (back["changed"], back["verdict"]["state"], back["verdict"]["used"]) == (True, None, True)
    assert not act(state="restored", build_id=OLD)["changed"]
    assert not act(state="restored")["changed"]


def test_a_held_build_keeps_its_nodes_and_an_announced_revocation_as_well(act):
    assert act(state="held", reason="alice looks")["deleted"] == []
    act(state="restored")
    later = act(state="revoked", reason="old kernel", at="2999-12-24 18:00")
    assert (later["verdict"]["used"], later["deleted"]) == (True, [])


def test_what_is_announced_for_later_never_brings_a_build_back(act, zk_client):
    act(state="revoked", reason="no python")
    before = tree(zk_client)
    again = act(state="revoked", reason="no python", at="2999-12-24 18:00")
    assert (again["changed"], again["verdict"]["used"]) == (False, False)
    for check in (True, False):
        refused = act(state="held", reason="alice looks", at="2999-12-24 18:00", check=check)
        assert refused["failed"] and refused["msg"] == (
            f"at cannot be used: build {NEW} of debian is already revoked by hand: no python: leave out at, or restore"
            " the build first"
        )
    assert tree(zk_client) == before
    at_once = act(state="held", reason="alice looks")
    assert (at_once["changed"], at_once["verdict"]["state"]) == (True, "held")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"state": "revoked"}, "reason is missing: state=revoked needs a reason for others to read"),
        ({"state": "restored", "at": "18:00"}, "at cannot be combined with state=restored"),
        ({"state": "held", "reason": "x", "at": "soon"}, "at is 'soon': give a time such as '18:00'"),
        ({"state": "held", "reason": "x", "at": "2001-01-01"}, "at is '2001-01-01', which has passed"),
        ({"state": "approved", "build_id": "3" * 32}, f"image debian has no build {'3' * 32}; there are {OLD}, {NEW}"),
        (
            {"state": "approved", "image": "debain"},
            "image names debain, but ZooKeeper has no build of it; there are debian",
        ),
    ],
)
def test_a_mistake_is_one_line(act, zk_client, options, words):
    before = tree(zk_client)
    result = act(**options)
    assert result["failed"] and words in result["msg"] and "\n" not in result["msg"] and "exception" not in result
    assert tree(zk_client) == before


def test_the_playbook_and_the_command_do_the_same(act, tmp_path, zk_client):
    variables = {"nodepool_config": "nodepool.yaml", "image_name": "debian", "image_reason": "its python is broken"}
    playbook = ROOT / "playbooks" / "image_decide.yml"
    ran = command("ansible-playbook", playbook, "-e", json.dumps(variables), folder=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"build {NEW} of debian: revoked" in ran.stdout and "0000000002, 0000000003" in ran.stdout
    assert document(zk_client, PATH)[NEW]["reason"] == "its python is broken"
    restored = command("nodepoolctl", "-c", "nodepool.yaml", "restore", "debian", folder=tmp_path)
    assert restored.stdout.strip() == "restored", restored.stdout + restored.stderr
    later = json.dumps({**variables, "image_at": "2099-12-24 18:00"})
    ran = command("ansible-playbook", playbook, "-e", later, folder=tmp_path)
    assert f"build {NEW} of debian: revoked from 2099-12-24 18:00:00 on; ready nodes" in " ".join(ran.stdout.split())
    for words, said in ((("restore", "debian"), "restored"), (("restore", "debian"), "nothing was decided about it")):
        told = command("nodepoolctl", "-c", "nodepool.yaml", *words, folder=tmp_path)
        assert (told.returncode, told.stdout.strip()) == (0, said), told.stdout + told.stderr
    assert document(zk_client, PATH)[NEW]["state"] == ""
    told = command("nodepoolctl", "-c", "nodepool.yaml", "revoke", "debian", "--reason", "no ssh", folder=tmp_path)
    lines = [f"revoked: build {NEW} of debian", "ready nodes that the launcher deletes: 0000000001"]
    lines += ["nodes in use, which stay: 0000000002, 0000000003"]
    assert (told.returncode, told.stdout.splitlines()) == (0, lines), told.stdout + told.stderr
    missing = command("ansible-playbook", playbook, "-e", "nodepool_config=nodepool.yaml", folder=tmp_path)
    assert missing.returncode != 0 and "image_name is missing: name the disk image" in missing.stdout
