# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ways to run a private ZooKeeper, with programs that only note how they are called."""

from __future__ import annotations

import glob
import socket
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper import private_zookeeper
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.private_zookeeper import (
    PrivateZooKeeper,
    Way,
    class_path,
    find_way,
    free_port,
    is_free,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError, StoreError


@pytest.fixture
def home(tmp_path: Path) -> str:
    """An unpacked ZooKeeper."""
    (tmp_path / "zk" / "lib").mkdir(parents=True)
    (tmp_path / "zk" / "lib" / "zookeeper-3.9.3.jar").touch()
    return str(tmp_path / "zk")


def there(*programs: str):
    return lambda name: f"/bin/{name}" if name in programs else None


def test_java_comes_first_then_podman_then_docker(home):
    assert find_way(home, which=there("java", "podman")) == Way("java", "/bin/java", f"{home}/lib/*")
    assert find_way(home, "podman", there("java", "podman")) == Way("podman", "/bin/podman")
    assert find_way("/nowhere", which=there("java", "docker")).kind == "docker"
    assert find_way(home, which=there("podman", "docker")).kind == "podman"


@pytest.mark.parametrize(
    ("where", "programs", "told"),
    [
        ("/nowhere", ("java",), "no ZooKeeper in /nowhere, and no podman or docker"),
        ("/nowhere", (), "neither Java nor ZooKeeper"),
        (None, (), "no Java, and no podman or docker"),
    ],
)
def test_without_a_way_one_command_is_told(home, where, programs, told):
    with pytest.raises(ConfigError) as caught:
        find_way(where or home, which=there(*programs))
    assert told in str(caught.value)
    assert "sudo apt-get install --no-install-recommends default-jre-headless zookeeper" in str(caught.value)
    assert "-e zookeeper=HOST:PORT" in str(caught.value)


def test_without_the_way_that_was_named_only_that_one_is_told(home):
    with pytest.raises(ConfigError, match=r"this machine has no docker \(zookeeper_way\)\. .*-e zookeeper_way=package"):
        find_way(home, "docker", there("java", "podman"))
    with pytest.raises(ConfigError, match=r"this machine has no Java\. "):
        find_way(home, "java", there("podman"))


def test_the_usual_places_of_an_unpacked_zookeeper(home, monkeypatch):
    monkeypatch.setenv("ZOOKEEPER_HOME", home)
    assert class_path() == f"{home}/lib/*"
    monkeypatch.delenv("ZOOKEEPER_HOME")
    monkeypatch.setattr(private_zookeeper, "_HOMES", (f"{home}*",))
    assert class_path() == f"{home}/lib/*"
    monkeypatch.setattr(private_zookeeper, "_HOMES", ())
    monkeypatch.setattr(private_zookeeper, "DEBIAN_JARS", home)
    assert class_path() == ""
    Path(home, "zookeeper.jar").touch()
    assert class_path().startswith(f"{home}/zookeeper.jar:{home}/slf4j-nop.jar:")


def test_of_several_unpacked_releases_the_last_one_is_taken_however_they_are_listed(tmp_path, monkeypatch):
    releases = [tmp_path / f"apache-zookeeper-{version}" for version in ("3.8.4", "3.9.3", "3.7.2")]
    for release in releases:
        (release / "lib").mkdir(parents=True)
        (release / "lib" / "zookeeper-3.jar").touch()
    monkeypatch.delenv("ZOOKEEPER_HOME", raising=False)
    monkeypatch.setattr(private_zookeeper, "_HOMES", (f"{tmp_path}/apache-zookeeper*",))
    found = glob.glob
    listed = {f"{tmp_path}/apache-zookeeper*": [str(release) for release in releases]}
    monkeypatch.setattr(glob, "glob", lambda pattern: listed.get(pattern) or found(pattern))
    assert class_path() == f"{tmp_path}/apache-zookeeper-3.9.3/lib/*"


def test_a_port_that_somebody_uses_is_not_free():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert not is_free(taken.getsockname()[1])
    assert is_free(free_port())


@pytest.fixture
def podman(tmp_path):
    """A podman that notes its calls; the container exists when the file state does, and runs when that says so."""
    script, log, state = tmp_path / "podman", tmp_path / "calls", tmp_path / "state"
    script.write_text(
        f"""#!/bin/sh
echo "$@" >> {log}
case $1 in
run) echo true > {state} ;;
start) test -e {state} && echo true > {state} ;;
stop) echo false > {state} ;;
inspect) test -e {state} && cat {state} ;;
rm) rm -f {state} ;;
logs) echo 'no memory' >&2 ;;
esac
"""
    )
    script.chmod(0o755)
    return Way("podman", str(script)), log, state


def server_of(tmp_path, state, **options) -> PrivateZooKeeper:
    class Answering(PrivateZooKeeper):
        def answers(self) -> bool:
            return bool(state.exists() and state.read_text() == "true\n")

    return Answering(str(tmp_path / "zk"), "stackci-quickstart-1", 2345, **options)


def test_a_container_is_run_once_started_again_and_removed(tmp_path, podman):
    way, log, state = podman
    server = server_of(tmp_path, state)
    programs = {"podman": way.program}.get
    assert server.start(way) and not server.start(way)
    (run,) = [line for line in log.read_text().splitlines() if line.startswith("run ")]
    assert "--publish 127.0.0.1:2345:2181" in run and "--name stackci-quickstart-1" in run
    assert server.stop(programs) and not server.stop(programs)
    log.write_text("")
    assert server.start(way)
    assert log.read_text() == "start stackci-quickstart-1\n", "its data are kept"
    server.remove(programs)
    assert not state.exists() and not (tmp_path / "zk").exists()


def test_what_an_interrupted_run_has_started_is_waited_for_and_not_started_again(tmp_path, podman):
    way, _log, state = podman
    server = server_of(tmp_path, state, sleep=lambda _seconds: state.write_text("true\n"))
    assert not server.runs({"podman": way.program}.get)
    server.pids = lambda: [1]  # type: ignore[method-assign]
    assert server.runs(there())
    assert server.start(Way("java", str(tmp_path / "no java"))) and server.answers()
    assert not Path(server.config).exists()
    server.pids = list  # type: ignore[method-assign]
    assert server.runs({"podman": way.program}.get), "a container that runs"


def test_a_container_that_does_not_answer_is_told_with_its_log(tmp_path, podman):
    way, _log, state = podman
    now = iter(range(0, 1000, 20))
    server = server_of(tmp_path, state, clock=lambda: float(next(now)), sleep=lambda seconds: None)
    server.answers = lambda: False  # type: ignore[method-assign]
    with pytest.raises(StoreError, match=r"does not answer on 127\.0\.0\.1:2345: no memory"):
        server.start(way)


def test_an_image_that_cannot_be_had_is_told(tmp_path):
    failing = tmp_path / "docker"
    failing.write_text("#!/bin/sh\necho 'no such host' >&2\nexit 125\n")
    failing.chmod(0o755)
    with pytest.raises(
        StoreError, match=r"docker does not start the image zookeeper:3\.9: no such host\. Check that this user"
    ):
        server_of(tmp_path, tmp_path / "none").start(Way("docker", str(failing)))


def test_a_java_that_ends_at_once_is_told_with_its_log(tmp_path):
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho 'Unsupported class file'\nexit 1\n")
    java.chmod(0o755)
    server = PrivateZooKeeper(str(tmp_path / "zk"), "x", free_port())
    with pytest.raises(StoreError, match=r"server\.log ends with: Unsupported class file"):
        server.start(Way("java", str(java), "jars"))
    assert "clientPortAddress=127.0.0.1" in Path(server.config).read_text()
    assert server.pids() == [] and not server.stop(lambda name: None)
