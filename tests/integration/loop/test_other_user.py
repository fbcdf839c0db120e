# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loop and the source of events as a system user with a umask of its own, as services run them."""

from __future__ import annotations

import dataclasses
import getpass
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator

import asyncssh
import pytest

from tests.support.ansible_run import COLLECTIONS, environment
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Cloud, CloudBank, Site, pool, provider
from tests.support.loop_process import UP_SECONDS, LoopProcess
from tests.support.other_user import OtherUser, open_folder, other_users
from tests.support.simcloud_process import SimCloud, default_cloud
from tests.support.zookeeper_server import ZooKeeperServer

FOUND = other_users()
CLOUD = "users"
EVENTS = "ansible_collections.stackci.nodepool.plugins.plugin_utils.events"

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(isinstance(FOUND, str), reason=str(FOUND)),
]


@pytest.fixture
def users() -> tuple[OtherUser, OtherUser]:
    """The user of the services, and a third one."""
    assert not isinstance(FOUND, str)
    return FOUND


@pytest.fixture
def site(zookeeper: ZooKeeperServer, bank: CloudBank) -> Iterator[Site]:
    """The world of a test in a folder that other users can be given."""
    with open_folder() as folder:
        made = Site(folder, zookeeper, f"/test-{uuid.uuid4().hex}", bank)
        yield made
        made.close()


def private_files(site: Site, user: OtherUser) -> None:
    """Give all files to the user, and to nobody else, as the roles do."""
    user.give(site.folder)
    for path in site.folder.iterdir():
        path.chmod(0o600 if path.is_file() else 0o700)


def loop_of(site: Site, user: OtherUser, **table: object) -> LoopProcess:
    """The launcher's loop of that user."""
    files = {"nodepool_config": str(site.config), "nodepool_clouds_config": str(site.clouds_yaml)}
    table = {"playbook": "stackci.nodepool.launcher", "duration": 600, **table}
    # Without a folder of its own from outside, the user's processes choose one.
    loop = LoopProcess(site.folder, table, files, user=user, more={"NODEPOOL_STATE_DIR": str(site.folder / "run")})
    user.give(loop.file)
    return loop


@pytest.mark.long
@pytest.mark.parametrize("umask", [0o077, 0o027, 0o000], ids=oct)
def test_the_loop_of_another_user_launches_scans_probes_and_hands_over(
    site: Site, users: tuple[OtherUser, OtherUser], umask: int
):
    """Whatever its umask is, nobody else can read or change what it leaves."""
    user, third = dataclasses.replace(users[0], umask=umask), users[1]
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(str(site.folder / "key"))
    key.write_public_key(str(site.folder / "key.pub"))
    guests = {"mode": "each", "authorized_keys": str(site.folder / "key.pub")}
    with SimCloud(default_cloud(CLOUD, boot=0.15, delete=0.0, quota_race=0.02, guests=guests)) as sim:
        cloud = site.use_cloud(Cloud(sim, CLOUD))
        images = [{"name": "debian-12", "username": getpass.getuser(), "connection-port": cloud.ssh_port()}]
        site.configure(provider("one", pool("main", host_key_checking=True), cloud_images=images))
        probe = {"command": "true", "key-file": str(site.folder / "key"), "interval": 1, "timeout": 60}
        settings = {"labels": [{"name": "small", "probe": probe}]}
        site.config.with_name("nodepool-settings.yaml").write_text(json.dumps(settings), "utf-8")
        private_files(site, user)
        with loop_of(site, user) as loop:
            first = loop.wait_serving()
            request = site.requestor.ask("small")
            site.requestor.wait_for(request, seconds=UP_SECONDS)
            (node,) = site.requestor.nodes_of(request)
            assert site.requestor.node(node)["host_keys"], "its host keys were scanned"
            os.kill(loop.module(first), 9)
            loop.wait_serving(after=first)
            site.requestor.wait_for(site.requestor.ask("small"), seconds=UP_SECONDS)
            owners = {path.stat().st_uid for path in loop.state.rglob("*") if path.exists()}
            assert owners == {user.uid}
            assert list(loop.state.rglob("session*")), "the next cycle had its predecessor's session"
            assert third.can_read_or_write(loop.state) == []
            assert loop.end() == 0
        assert third.can_read_or_write(loop.state) == []


@pytest.mark.parametrize("mode", [0o755, 0o775], ids=oct)
def test_a_state_folder_that_somebody_else_may_write_to_is_refused(
    site: Site, users: tuple[OtherUser, OtherUser], mode: int
):
    """That of root, and one of its own that its group may write to."""
    user = users[0]
    site.configure()
    private_files(site, user)
    loop = loop_of(site, user)
    loop.state.mkdir()
    loop.state.chmod(mode)
    if mode & 0o020:
        user.give(loop.state)
    with loop:
        assert loop.process.wait(UP_SECONDS) != 0
    assert "must belong to the user of the loop, and only that user may write to it" in loop.log.read_text("utf-8")


@pytest.mark.parametrize(("umask", "group_reads"), [(0o077, False), (0o027, True), (0o000, True)])
def test_the_journal_of_events_is_for_the_user_and_by_its_umask_for_the_group(
    site: Site, users: tuple[OtherUser, OtherUser], umask: int, group_reads: bool
):
    """Nobody else reads it, and nobody else writes to it."""
    user, third = dataclasses.replace(users[0], umask=umask), users[1]
    site.configure()
    private_files(site, user)
    journal = site.folder / "events.jsonl"
    words = [sys.executable, "-m", EVENTS, "--config", str(site.config), "--journal", str(journal)]
    words += ["--state-file", str(site.folder / "told.json")]
    process = subprocess.Popen(
        words,
        cwd=site.folder,
        env={**environment(site.folder), "PYTHONPATH": str(COLLECTIONS)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **user.as_process(),
    )
    try:
        eventually(lambda: journal.exists() and journal.read_text("utf-8").endswith("\n"), UP_SECONDS)
    finally:
        process.terminate()
        assert process.wait(UP_SECONDS) == 0
    assert "provider_unserved" in journal.read_text("utf-8")
    assert journal.stat().st_uid == user.uid and not third.may("-r", journal)
    assert third.may("-r", journal, groups=(user.gid,)) == group_reads
    assert not third.may("-w", journal, groups=(user.gid,))
    assert not third.may("-r", site.folder / "told.json")
