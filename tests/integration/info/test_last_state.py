# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be seen while two of three ZooKeeper servers are gone, and what nobody may do then."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.state_folder import default_folder
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.kept_tree import file_name
from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.application import STATE_AGE
from ansible_collections.stackci.nodepool.plugins.plugin_utils.nodepoolctl.endings import DONE, UNREACHABLE
from tests.support.ansible_run import ModuleProcess, run_alone, run_module
from tests.support.command import nodepoolctl, surroundings, words_of
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import CloudBank, Site, label, pool, provider
from tests.support.web_service import running
from tests.support.zookeeper_ensemble import ZooKeeperEnsemble
from tests.support.zookeeper_server import HOST

pytestmark = pytest.mark.long

ROWS = {
    "node_info": "nodes",
    "request_info": "requests",
    "provider_info": "providers",
    "label_info": "labels",
    "lease_info": "leases",
    "usage_info": "rows",
    "dib_image_info": "builds",
    "image_info": "uploads",
    "nodepool_status": "lines",
}
"""Module → key of what it shows."""


@pytest.fixture
def ensemble() -> Iterator[ZooKeeperEnsemble]:
    with ZooKeeperEnsemble() as made:
        yield made


@pytest.fixture
def site(ensemble: ZooKeeperEnsemble, bank: CloudBank, tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path, ensemble, f"/test-{uuid.uuid4().hex}", bank)  # type: ignore[arg-type]
    servers = [{"host": HOST, "port": member.port, "chroot": made.chroot} for member in ensemble.members]
    made.configure(
        provider("one", pool("main", label("small"))), labels={"small": {"min-ready": 2}}, zookeeper_servers=servers
    )
    yield made
    made.close()


@contextmanager
def without_a_quorum(ensemble: ZooKeeperEnsemble) -> Iterator[None]:
    """Two members are killed, and come back afterwards; the third serves nobody."""
    for member in ensemble.members[1:]:
        member.kill()
    try:
        yield
    finally:
        for member in ensemble.members[1:]:
            member.start()


def kept_file(site: Site) -> str:
    """The file of this tree: other tests keep theirs in the same folder."""
    return os.path.join(default_folder(), file_name(parse_config(site.config.read_text(), str(site.config)).zookeeper))


def look(site: Site, module: str, **options: Any) -> dict[str, Any]:
    files = {"clouds_config": str(site.clouds_yaml)} if "image" in module else {}
    folder = Path(tempfile.mkdtemp(dir=site.folder))
    return run_alone(module, {"config": str(site.config), **files, **options}, folder).result


def look_at_all(site: Site, **options: Any) -> dict[str, dict[str, Any]]:
    """The result of each module. All run at once: each waits for ZooKeeper for ten seconds."""
    with ThreadPoolExecutor(len(ROWS)) as pool_of_threads:
        return dict(zip(ROWS, pool_of_threads.map(lambda module: look(site, module, **options), ROWS), strict=True))


def test_what_only_shows_tells_the_last_state_and_what_acts_does_nothing(ensemble: ZooKeeperEnsemble, site: Site):
    def spares() -> list[str]:
        return [name for name, one in site.requestor.nodes().items() if one["state"] == "ready"]

    kept, folder = kept_file(site), default_folder()
    with ExitStack() as stack:
        stays = {**site.files(), "state_dir": folder, "until": "deadline", "duration": 900}
        stack.enter_context(ModuleProcess("node_launch", stays, site.folder, "launcher.json"))
        nodes = eventually(lambda: spares() if len(spares()) == 2 else None, 60)
        live = look_at_all(site)
        assert all(one["as_of"]["problem"] is None and one["as_of"]["age"] == 0 for one in live.values())
        assert not any(one["failed"] for one in live.values())
        assert not os.path.exists(kept), "nothing is written while ZooKeeper answers"
        watched = stack.enter_context(watching(site))
        eventually(lambda: "one: served by" in screens(watched)[-1], 60)
        calls = len(site.cloud.calls("POST /servers")), len(site.cloud.calls("DELETE /servers/{id}"))
        with without_a_quorum(ensemble):
            eventually(lambda: os.path.exists(kept), 60)
            stack.callback(os.unlink, kept)
            assert os.stat(kept).st_mode & 0o777 == 0o600
            all_is_old(site, live)
            the_command_shows_it(site, nodes)
            eventually(lambda: "last state" in screens(watched)[-1])
            assert "one: served by" in screens(watched)[-1]
            acted = run_alone("node", {"config": str(site.config), "ids": nodes, "state": "absent"}, site.folder).result
            assert acted["failed"] and "no connection to ZooKeeper" in acted["msg"]
            options = {**site.files(), "state_dir": str(site.folder / "state"), "duration": 20}
            launched = run_alone("node_launch", options, site.folder).result
            assert launched["failed"] and "no connection to ZooKeeper" in launched["msg"]
            assert (len(site.cloud.calls("POST /servers")), len(site.cloud.calls("DELETE /servers/{id}"))) == calls
            service = stack.enter_context(running(site.config, state_dir=folder))
            listed = eventually(lambda: found if (found := service.get("/node-list")).status == 200 else None, 60)
            assert float(listed.headers[STATE_AGE.lower()]) > 0
            assert nodes[0] in listed.text
            assert "This is the last known state" in service.get("/").text
            assert service.get("/ready").status == 503
        eventually(lambda: STATE_AGE.lower() not in service.get("/node-list").headers, 60)
        assert "ZooKeeper" not in service.get("/ready").text
        assert not look(site, "node_info")["failed"]


def all_is_old(site: Site, live: dict[str, dict[str, Any]]) -> None:
    """Each module shows what it showed before, how old that is, and fails unless it may be old."""
    olds, allowed = look_at_all(site), look_at_all(site, require_zookeeper=False)
    for module, rows in ROWS.items():
        old, lenient = olds[module], allowed[module]
        assert old["failed"] and "last state" in old["msg"] and "quorum" in old["msg"], (module, old)
        assert not lenient["failed"] and "last state" in str(lenient["warnings"]), module
        for one in (old, lenient):
            assert one["as_of"]["age"] > 0 and "quorum" in one["as_of"]["problem"] and not one["changed"], module
            assert (len(one[rows]) > 0) == (len(live[module][rows]) > 0), module
    ids = [{row["id"] for row in shown["node_info"]["nodes"]} for shown in (live, olds, allowed)]
    assert ids[0] == ids[1] == ids[2]
    assert "last state" in run_module("nodepool_status", {"config": str(site.config)}, site.folder).screen
    unknown = look(site, "node_info", ids=["4711"])
    assert "last state" in unknown["msg"] and "has no node '4711'" in unknown["msg"]


def the_command_shows_it(site: Site, nodes: list[str]) -> None:
    """Like the modules; its exit status is that of a ZooKeeper that cannot be reached, unless the state may be old."""
    for words, strict in ((["list"], True), (["list", "--no-require-zookeeper"], False), (["status"], True)):
        done = nodepoolctl(*words, folder=site.folder, config=site.config)
        assert done.returncode == (UNREACHABLE if strict else DONE), (words, done.stderr)
        assert "last state" in done.stderr or "last state" in done.stdout, words
        assert all(node in done.stdout for node in nodes) or words == ["status"], done.stdout


@contextmanager
def watching(site: Site) -> Iterator[Path]:
    """``nodepoolctl status --watch`` at work; the file with what it prints."""
    path = site.folder / "watched"
    with path.open("wb") as out:
        words = words_of("status", "--watch", "1")
        process = subprocess.Popen(words, cwd=site.folder, env=surroundings(site.folder, site.config), stdout=out)
    try:
        yield path
    finally:
        process.terminate()
        process.wait(60)


def screens(path: Path) -> list[str]:
    """What was shown, one after the other, without the one that is being written."""
    return re.split(r"^[0-9:]{8}, every 1 s until Ctrl-C$", path.read_text("utf-8"), flags=re.MULTILINE)[:-1] or [""]
