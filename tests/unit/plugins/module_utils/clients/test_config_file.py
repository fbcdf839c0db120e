# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files: every way in which one cannot be read, and real ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import load_config
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from tests.support.config_texts import ZOOKEEPER

ROOT = Path(__file__).resolve().parents[5]
OPENDEV = Path(os.environ.get("STACKCI_OPENDEV", ""))
"""A folder with nl01.yaml and builder.yaml as OpenDev publishes them."""


def never(seconds):
    raise AssertionError(f"slept {seconds} s")


def failure(path, *more, sleep=never):
    """The only problem of the only file."""
    with pytest.raises(ConfigError) as error:
        load_config(str(path), *more, environ={}, sleep=sleep)
    (problem,) = error.value.problems
    return problem


@pytest.fixture
def path(tmp_path):
    return tmp_path / "nodepool.yaml"


def test_a_file(path):
    path.write_text(ZOOKEEPER)
    config = load_config(str(path), environ={}, sleep=never)
    assert config.path == str(path)
    assert config.zookeeper.servers[0].host == "zk01"


def test_a_missing_file_is_asked_for_three_times_more(path):
    slept: list[float] = []
    assert failure(path, sleep=slept.append) == f"{path}: does not exist: check the path"
    assert slept == [0.5, 0.5, 0.5]


def test_a_file_that_comes_back_is_read(path):
    slept: list[float] = []

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) == 3:
            path.write_text(ZOOKEEPER)

    assert load_config(str(path), environ={}, sleep=sleep).zookeeper.servers[0].host == "zk01"
    assert slept == [0.5, 0.5, 0.5]


def test_a_directory(tmp_path):
    assert failure(tmp_path) == f"{tmp_path}: is a directory: give the path of the file in it"


def test_a_pipe_is_not_waited_for(path):
    os.mkfifo(path)
    assert failure(path) == f"{path}: is not a regular file: copy its content into one"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(path):
    path.write_text(ZOOKEEPER)
    path.chmod(0)
    assert f"{path}: cannot be read by user id {os.geteuid()}" in failure(path)


def test_a_refused_open_is_put_into_words(path, monkeypatch):
    def refuse(*_unused):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    assert failure(path) == f"{path}: cannot be read by user id {os.geteuid()}: change its owner or mode"


def test_a_file_below_a_file(path):
    path.write_text(ZOOKEEPER)
    assert failure(path / "x") == f"{path}/x: cannot be read: Not a directory"


def test_no_path_at_all():
    assert failure("a\0b") == "'a\\x00b': is not a path: embedded null byte"


def test_not_utf8(path):
    path.write_bytes(b"labels:\n- name: caf\xe9\n")
    assert failure(path) == f"{path}:2: is not UTF-8 text (byte 19): save the file as UTF-8"


def test_a_byte_order_mark_and_windows_lines_are_fine(path):
    path.write_bytes(b"\xef\xbb\xbf" + ZOOKEEPER.encode() + b"labels:\r\n- name: a\r\n")
    assert list(load_config(str(path), environ={}).labels) == ["a"]


def test_both_files_are_complained_about(tmp_path):
    with pytest.raises(ConfigError) as error:
        load_config(str(tmp_path / "a"), str(tmp_path / "b"), environ={}, sleep=lambda _unused: None)
    assert len(error.value.problems) == 2


def test_secure_conf_is_read_and_named(path, tmp_path):
    secure = tmp_path / "secure.conf"
    path.write_text("diskimages: [{name: d}]\n")
    secure.write_text(ZOOKEEPER + "diskimages: [{name: d, env-vars: {A: b}}]\n")
    assert load_config(str(path), str(secure), environ={}).diskimages["d"].env_vars == {"A": "b"}
    secure.write_text(ZOOKEEPER + "diskimages: [{name: e}]\n")
    assert failure(path, str(secure)).startswith(f"{secure}:2: diskimages[0].name: ")


def test_the_example_is_right():
    examples = ROOT / "examples"
    config = load_config(str(examples / "nodepool.yaml"), str(examples / "secure.conf"), strict=True, environ={})
    assert config.warnings == ()
    assert config.providers["east"].pools["main"].labels.keys() == config.labels.keys()


@pytest.mark.skipif(not (OPENDEV / "nl01.yaml").is_file(), reason="STACKCI_OPENDEV names no folder with nl01.yaml")
class TestOpenDev:
    """A production configuration, at its full size."""

    def test_launcher(self):
        config = load_config(str(OPENDEV / "nl01.yaml"), strict=True, environ={})
        assert config.warnings == ()
        assert (len(config.labels), len(config.diskimages)) == (20, 12)
        assert list(config.providers) == ["rax-dfw", "rax-iad", "rax-ord", "raxflex-dfw3", "raxflex-sjc3"]
        dfw, ord_ = config.providers["rax-dfw"], config.providers["rax-ord"]
        assert (dfw.rate, dfw.boot_timeout, dfw.pools["main"].max_servers) == (0.001, 120, 140)
        assert (ord_.max_concurrency, ord_.launch_retries) == (5, 1)
        assert config.providers["raxflex-dfw3"].rate == 0.1
        assert config.providers["raxflex-dfw3"].pools["main"].labels["ubuntu-noble"].networks == (
            "opendevzuul-network1",
        )
        assert config.labels["ubuntu-jammy"].min_ready == 5

    def test_builder(self):
        config = load_config(str(OPENDEV / "builder.yaml"), strict=True, environ={})
        assert config.warnings == ()
        assert len(config.providers) == 10
        noble = config.diskimages["ubuntu-noble"]
        assert "base" not in config.diskimages
        assert noble.elements[0] == "vm"
        assert noble.elements[-1] == "cache-devstack"
        assert (noble.release, noble.rebuild_age, noble.keep_formats) == ("noble", 86400, ("qcow2",))
        assert noble.env_vars["DIB_APT_LOCAL_CACHE"] == "0"
        assert config.providers["vexxhost-ca-ymq-1"].diskimages["ubuntu-noble"].meta["hw_machine_type"] == "q35"
