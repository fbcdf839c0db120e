# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Word between processes of one host: who may read it, who is believed, and what deceives nobody."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from dataclasses import replace

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.private_file import FolderNotPrivate
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.session_file import (
    SessionFolder,
    SessionNote,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import (
    ZooKeeperServer,
    ZooKeeperSettings,
)

SETTINGS = ZooKeeperSettings(servers=(ZooKeeperServer("zk1", 2181, "/ci"),))
SECRET = b"very secret\0sir"
"""ZooKeeper makes passwords of any bytes; a client that reads one as a text of C shortens it."""
IDENTITY = (0x1234567890, SECRET)


@pytest.fixture
def folder(tmp_path):
    made = SessionFolder(str(tmp_path / "state"), SETTINGS)
    yield made
    made.close()


def test_folder_and_file_are_private_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        made = SessionFolder(str(tmp_path / "state"), SETTINGS).make()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "state" / made.name).stat().st_mode) == 0o600


def test_what_is_written_is_read_by_the_successor(folder):
    file = folder.make()
    file.write(SessionNote.of_this_process(IDENTITY))
    file.write(SessionNote.of_this_process((5, SECRET)))
    file.leave()
    inherited = folder.inherit(file.name)
    assert inherited is not None
    word = inherited.read()
    assert word.identity == (5, SECRET)
    assert word.process_is_seen and word.is_from_this_boot
    inherited.remove()
    assert folder.names() == []


def test_nothing_is_inherited_from_the_living(folder):
    file = folder.make()
    file.write(SessionNote.of_this_process(IDENTITY))
    assert folder.inherit(file.name) is None


def test_only_one_inherits(folder):
    file = folder.make()
    file.leave()
    first = folder.inherit(file.name)
    assert first is not None
    assert folder.inherit(file.name) is None
    first.remove()
    assert folder.inherit(file.name) is None


def test_the_secret_is_in_no_text(folder):
    word = SessionNote.of_this_process(IDENTITY)
    assert SECRET.hex() not in repr(word) and str(SECRET) not in repr(word)
    file = folder.make()
    assert SECRET.hex() not in file.name


def test_trees_do_not_see_each_other(tmp_path, folder):
    other = replace(SETTINGS, servers=(ZooKeeperServer("zk1", 2181, "/other"),))
    folder.make()
    assert SessionFolder(folder.path, other).names() == []
    assert len(folder.names()) == 1


def age(folder, seconds):
    """Let the last change of the folder be so long ago."""
    now = os.stat(folder.path).st_mtime
    os.utime(folder.path, (now, now - seconds))


def test_a_folder_without_changes_is_not_read_again(folder, monkeypatch):
    reads = []
    listdir = os.listdir

    def read(fd):
        reads.append(fd)
        return listdir(fd)

    monkeypatch.setattr(os, "listdir", read)
    file = folder.make()
    assert folder.names() == folder.names() == [file.name]
    assert len(reads) == 2, "a file that is made now could have the same time"
    age(folder, 60)
    assert folder.names() == folder.names() == [file.name]
    assert len(reads) == 3
    other = folder.make()
    assert folder.names() == sorted([file.name, other.name])
    age(folder, 30)
    other.remove()
    assert folder.names() == [file.name]


def test_old_files_of_other_trees_are_deleted_unless_their_process_lives(folder):
    other = SessionFolder(folder.path, replace(SETTINGS, servers=(ZooKeeperServer("zk1", 2181, "/other"),)))
    made = {name: other.make() for name in ("locked", "seen", "old", "new", "empty")}
    own = folder.make()
    gone = replace(SessionNote.of_this_process(IDENTITY), started=1)
    for name, file in made.items():
        if name != "empty":
            file.write(SessionNote.of_this_process(IDENTITY) if name == "seen" else gone)
        if name != "locked":
            file.leave()
        if name != "new":
            os.utime(os.path.join(folder.path, file.name), (1000, 1000))
    own.leave()
    os.utime(os.path.join(folder.path, own.name), (1000, 1000))
    folder.forget_other_trees(2000.0)
    assert other.names() == sorted(made[name].name for name in ("locked", "seen", "new"))
    assert folder.names() == [own.name]
    other.close()


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"{}", b'{"pid": 1}', b"\xff" * 5000])
def test_what_makes_no_sense_is_harmless(folder, data):
    file = folder.make()
    os.pwrite(file._fd, data, 0)
    assert file.read() is None


def test_a_password_that_is_none_is_harmless():
    document = json.loads(SessionNote.of_this_process(IDENTITY).data())
    for key, value in (("password", "xyz"), ("password", 7), ("pid", "me"), ("session_id", None)):
        assert SessionNote.parse(json.dumps({**document, key: value}).encode()) is None


def test_links_are_not_followed(tmp_path, folder):
    victim = tmp_path / "victim"
    victim.write_text("precious", encoding="utf-8")
    name = f"{folder._prefix}1-evil"
    (tmp_path / "state" / name).symlink_to(victim)
    assert folder.inherit(name) is None
    os.unlink(tmp_path / "state" / name)
    os.link(victim, tmp_path / "state" / name)
    victim.chmod(0o600)
    assert folder.inherit(name) is None
    assert victim.read_text("utf-8") == "precious"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_file_that_others_could_have_read_or_written_is_not_believed(tmp_path, folder, mode):
    file = folder.make()
    file.leave()
    (tmp_path / "state" / file.name).chmod(mode)
    assert folder.inherit(file.name) is None


def test_pipes_and_folders_do_not_hold_us_up(tmp_path, folder):
    os.mkfifo(tmp_path / "state" / f"{folder._prefix}pipe", 0o600)
    (tmp_path / "state" / f"{folder._prefix}folder").mkdir()
    assert [folder.inherit(name) for name in folder.names()] == [None, None]


@pytest.mark.parametrize("trick", ["open to all", "link", "file", "no parent"])
def test_a_folder_that_is_not_ours_alone_is_not_used(tmp_path, trick):
    path = tmp_path / "state"
    if trick == "open to all":
        path.mkdir()
        path.chmod(0o777)
    elif trick == "link":
        (tmp_path / "elsewhere").mkdir(0o700)
        path.symlink_to(tmp_path / "elsewhere")
    elif trick == "file":
        path.write_text("", encoding="utf-8")
    else:
        path = tmp_path / "a" / "b"
    with pytest.raises(FolderNotPrivate, match="cannot be used as state_dir"):
        SessionFolder(str(path), SETTINGS)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_a_folder_of_somebody_else_is_not_used(tmp_path):
    path = tmp_path / "state"
    path.mkdir(0o700)
    os.chown(path, 12345, -1)
    with pytest.raises(FolderNotPrivate, match="must belong to the user"):
        SessionFolder(str(path), SETTINGS)


def test_a_dead_process_is_not_seen_and_one_with_its_pid_is_not_it():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    ours = SessionNote.of_this_process(IDENTITY)
    assert ours.process_is_seen
    assert not replace(ours, started=ours.started - 1).process_is_seen
    assert not replace(ours, boot="another").process_is_seen
    assert not replace(ours, namespace="pid:[1]").process_is_seen
    with open(f"/proc/{child.pid}/stat", "rb") as file:
        theirs = replace(ours, pid=child.pid, started=int(file.read().rpartition(b")")[2].split()[19]))
    assert theirs.process_is_seen
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not theirs.process_is_seen, "a zombie holds nothing"
    child.communicate()
    assert not theirs.process_is_seen
