# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last valid configuration: what is kept of it, who may read it, and whose copy is believed."""

from __future__ import annotations

import json
import os
import stat
import time
from dataclasses import replace

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients import kept_config
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import ConfigFiles, settings_beside
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.kept_config import find, keep
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.private_file import FolderNotPrivate


@pytest.fixture(autouse=True)
def _no_services(monkeypatch, tmp_path):
    monkeypatch.setattr(kept_config, "SERVICES", str(tmp_path / "services" / "*" / "sessions"))


@pytest.fixture
def files(tmp_path):
    path = tmp_path / "nodepool.yaml"
    path.write_text("labels: []\n", encoding="utf-8")
    return ConfigFiles(str(path), "labels: []\n", str(tmp_path / "secure.conf"), "secret: 1\n", 1000.5)


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "state")


def only(folder):
    (name,) = os.listdir(folder)
    return os.path.join(folder, name)


def test_what_was_kept_is_found_again(folder, files):
    keep(folder, files)
    kept = find([folder], files.path, files.secure_path)
    assert kept is not None
    assert kept.files == files


@pytest.mark.parametrize("target", ["release-2", "nowhere"])
def test_a_link_that_leads_to_another_file_now_has_its_former_content(folder, files, tmp_path, target):
    """As where each release of a configuration is a folder of its own and ``current`` leads to the newest."""
    current = tmp_path / "current"
    for name in ("release-1", "release-2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "nodepool.yaml").write_text("labels: []\n", encoding="utf-8")
    current.symlink_to("release-1")
    linked = replace(files, path=str(current / "nodepool.yaml"))
    keep(folder, linked)
    current.unlink()
    current.symlink_to(target)
    kept = find([folder], linked.path, files.secure_path)
    assert kept is not None and kept.files == linked
    first = str(tmp_path / "release-1" / "nodepool.yaml")
    assert find([folder], first, files.secure_path), "another path to the same file"


def test_nobody_else_may_read_it(folder, files):
    keep(folder, files)
    assert stat.S_IMODE(os.stat(only(folder)).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700


def stored(folder, files, at):
    """Keep *files* at a UNIX time."""
    before = set(os.listdir(folder)) if os.path.isdir(folder) else set()
    keep(folder, files)
    for name in set(os.listdir(folder)) - before or os.listdir(folder):
        os.utime(os.path.join(folder, name), (at, at))


@pytest.mark.parametrize(
    "written", [1000.5, 3000.0, 500.0], ids=["unknown to the others", "newer", "a former version with its former time"]
)
def test_the_copy_that_was_stored_last_counts_whatever_the_time_of_the_file(folder, files, tmp_path, written):
    """As after ``mv nodepool.yaml.old nodepool.yaml``, while a service that still has the other version is stopped."""
    now, service = time.time(), tmp_path / "services" / "launcher" / "sessions"
    service.parent.mkdir(parents=True)
    stored(folder, replace(files, text="labels: [b]\n", written=2000.0), now - 50)
    stored(str(service), ConfigFiles(files.path, "labels: [a]\n", files.secure_path, None, written), now - 10)
    kept = find([folder], files.path, files.secure_path)
    assert kept is not None
    assert (kept.files.text, kept.files.written) == ("labels: [a]\n", written)


def test_a_copy_is_as_new_as_the_last_look_at_the_files(folder, files, tmp_path):
    """A service has not seen the version that another one stored, and the files are as before again."""
    now, service = time.time(), tmp_path / "services" / "launcher" / "sessions"
    service.parent.mkdir(parents=True)
    stored(folder, files, now - 50)
    stored(str(service), replace(files, text="labels: [a]\n", written=2000.0), now - 10)
    keep(folder, files)
    kept = find([folder], files.path, files.secure_path)
    assert kept is not None and kept.files == files


def test_a_copy_of_a_time_to_come_counts_only_if_there_is_no_other(folder, files, tmp_path):
    now, service = time.time(), tmp_path / "services" / "launcher" / "sessions"
    service.parent.mkdir(parents=True)
    stored(str(service), replace(files, text="labels: [a]\n"), now + 10**7)
    kept = find([folder], files.path, files.secure_path)
    assert kept is not None and kept.files.text == "labels: [a]\n"
    stored(folder, files, now - 50)
    kept = find([folder], files.path, files.secure_path)
    assert kept is not None and kept.files.text == files.text


def test_a_link_that_leads_to_a_version_that_was_left_does_not_bring_it_back(folder, files, tmp_path):
    """``current`` leads to release-2, to release-1 again, and to release-2, which has a mistake by now."""
    current, now = tmp_path / "current", time.time()
    for at, name in ((now - 50, "release-1"), (now - 40, "release-2"), (now - 30, "release-1")):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "nodepool.yaml").write_text("", encoding="utf-8")
        current.unlink(missing_ok=True)
        current.symlink_to(name)
        linked = replace(files, path=str(current / "nodepool.yaml"), text=name, written=2000.0 + (name == "release-2"))
        stored(folder, linked, at)
    current.unlink()
    current.symlink_to("release-2")
    kept = find([folder], linked.path, files.secure_path)
    assert kept is not None and kept.files.text == "release-1"


def test_a_configuration_with_another_secure_file_is_another_one(folder, files):
    keep(folder, files)
    assert find([folder], files.path, None) is None
    assert find([folder], files.path + "x", files.secure_path) is None


def test_what_is_kept_already_is_not_written_again(folder, files):
    keep(folder, files)
    before = os.stat(only(folder)).st_ino
    keep(folder, files)
    assert os.stat(only(folder)).st_ino == before
    keep(folder, ConfigFiles(files.path, "labels: [a]\n", files.secure_path, None, files.written))
    assert os.stat(only(folder)).st_ino != before


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b"null", b'{"written": 1}', b"\xff\xfe"],
)
def test_a_damaged_copy_does_not_count(folder, files, damage):
    keep(folder, files)
    with open(only(folder), "wb") as file:
        file.write(damage)
    assert find([folder], files.path, files.secure_path) is None
    keep(folder, files)
    assert find([folder], files.path, files.secure_path) is not None


def test_a_text_that_was_changed_does_not_count(folder, files):
    keep(folder, files)
    path = only(folder)
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**document, "text": "labels: [evil]\n"}, file)
    assert find([folder], files.path, files.secure_path) is None


def test_a_copy_that_others_may_read_or_that_is_a_link_does_not_count(folder, files, tmp_path):
    keep(folder, files)
    path = only(folder)
    os.chmod(path, 0o640)
    assert find([folder], files.path, files.secure_path) is None
    os.chmod(path, 0o600)
    elsewhere = tmp_path / "elsewhere"
    os.rename(path, elsewhere)
    os.symlink(elsewhere, path)
    assert find([folder], files.path, files.secure_path) is None


def test_a_copy_of_another_user_does_not_count(folder, files, monkeypatch):
    keep(folder, files)
    stranger = os.stat(only(folder)).st_uid + 4321
    monkeypatch.setattr(kept_config, "_trusted", lambda path: iter([stranger]))
    assert find([folder], files.path, files.secure_path) is None


def test_a_folder_that_others_may_write_to_is_refused(folder, files):
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    with pytest.raises(FolderNotPrivate, match="only that user may"):
        keep(folder, files)


def test_copies_of_files_that_are_gone_are_deleted_when_they_are_old(folder, files, tmp_path):
    keep(folder, files)
    gone = only(folder)
    os.unlink(files.path)
    other = tmp_path / "other.yaml"
    other.write_text("", encoding="utf-8")
    keep(folder, ConfigFiles(str(other), "a", None, None, 1.0))
    assert os.path.exists(gone)
    os.utime(gone, (0, 0))
    keep(folder, ConfigFiles(str(other), "b", None, None, 2.0))
    assert not os.path.exists(gone)


@pytest.mark.parametrize("name", ["nodepool.yaml", "secure.conf"])
def test_copies_of_versions_that_a_link_has_left_are_deleted_when_they_are_old(tmp_path, files, name):
    """As in a ConfigMap or Secret: each version is a folder of its own, removed when ``..data`` leads to another."""
    mounted, folder = tmp_path / "mounted", tmp_path / "state [1]"
    mounted.mkdir()
    (mounted / name).symlink_to(f"..data/{name}")
    linked = {"nodepool.yaml": {"path": str(mounted / name)}, "secure.conf": {"secure_path": str(mounted / name)}}[name]
    for number in range(1, 5):
        version = mounted / f"..version-{number}"
        version.mkdir()
        (version / name).write_text(f"# {number}\n", encoding="utf-8")
        (mounted / "..new").symlink_to(version.name)
        (mounted / "..new").replace(mounted / "..data")
        for former in folder.glob("*"):
            os.utime(former, (0, 0))
        last = replace(files, **linked, secure_text=f"{number}")
        keep(str(folder), last)
        (version / name).unlink()
    assert len(list(folder.iterdir())) == 2, "one by the link, one by where it leads"
    kept = find([str(folder)], last.path, last.secure_path)
    assert kept is not None and kept.files.secure_text == "4"


def test_the_settings_are_kept_too_and_those_beside_nodepool_yaml_may_come_and_go(folder, files):
    beside = settings_beside(files.path)
    own = replace(files, settings_path=beside, settings_text="labels: []\n")
    keep(folder, own)
    kept = find([folder], files.path, files.secure_path)
    assert kept is not None and kept.files.settings_text == "labels: []\n"
    keep(folder, replace(files, written=files.written + 1))
    kept = find([folder], files.path, files.secure_path)
    assert kept is not None and kept.files.settings_text is None
    assert find([folder], files.path, files.secure_path, "/elsewhere/settings.yaml") is None
