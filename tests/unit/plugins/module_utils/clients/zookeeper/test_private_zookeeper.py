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
    check_way,
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
    assert find_way(home, which=there("podman", "docker")).kind == "podman"


@pytest.mark.parametrize("programs", [(), ("java",), ("java", "docker")])
@pytest.mark.parametrize("only", ["", "java"])
def test_a_folder_without_a_zookeeper_is_told_whatever_else_the_machine_has(only, programs):
    """A container that is started instead, or the trouble of its engine, would say nothing about the mistake."""
    with pytest.raises(ConfigError, match="zookeeper_home is /nowhere, which has no lib/zookeeper"):
        find_way("/nowhere", only, there(*programs))
    assert find_way("/nowhere", "podman", there("podman")).kind == "podman"


@pytest.mark.parametrize(
    ("unpacked", "programs", "told"),
    [
        (False, ("java",), "no ZooKeeper, and no podman or docker"),
        (False, (), "neither Java nor ZooKeeper"),
        (True, (), "no Java, and no podman or docker"),
    ],
)
def test_without_a_way_one_command_is_told(home, monkeypatch, unpacked, programs, told):
    if not unpacked:
        monkeypatch.setattr(private_zookeeper, "class_path", lambda _home: "")
    with pytest.raises(ConfigError) as caught:
        find_way(home if unpacked else "", which=there(*programs))
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


ENGINE = """#!/bin/sh
echo "$@" >> {folder}/calls
state={folder}/state
cat {folder}/trouble >&2 2>/dev/null && exit 1
case $1 in
info) ;;
run) echo true > $state ;;
start) test -e {folder}/busy && echo 'port is already allocated' >&2 && exit 1; echo true > $state ;;
stop) echo false > $state ;;
ps) test -e $state && echo 0123456789ab ;;
inspect)
  test -e $state || exit 1
  case $3 in *HostPort*) echo 2345 ;; *Status*) echo exited ;; *) cat $state ;; esac ;;
rm) rm -f $state ;;
logs) echo 'no memory' >&2 ;;
esac
exit 0
"""


@pytest.fixture
def podman(tmp_path):
    """A podman that notes its calls; the container exists when the file state does, and runs when that says so."""
    script = tmp_path / "podman"
    script.write_text(ENGINE.format(folder=tmp_path))
    script.chmod(0o755)
    return Way("podman", str(script)), tmp_path / "calls", tmp_path / "state"


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
    assert log.read_text().splitlines()[-1] == "start stackci-quickstart-1", "its data are kept"
    server.remove(programs)
    assert not state.exists() and not (tmp_path / "zk").exists()


def test_what_an_interrupted_run_has_started_is_waited_for_and_not_started_again(tmp_path, podman):
    way, _log, state = podman
    server = server_of(tmp_path, state, sleep=lambda _seconds: state.write_text("true\n"))
    assert not server.runs({"podman": way.program}.get)
    server.pids = lambda: [1]  # type: ignore[method-assign]
    assert server.runs(there())
    Path(server.folder).mkdir()
    Path(server.config).touch()
    assert server.start(Way("java", str(tmp_path / "no java"))) and server.answers()
    assert Path(server.config).read_text() == ""
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
    failing.write_text("#!/bin/sh\n[ $1 = info ] && exit\necho 'no such host' >&2\nexit 125\n")
    failing.chmod(0o755)
    with pytest.raises(
        StoreError, match=r"docker does not start the image zookeeper:3\.9: no such host: check that this user"
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


def test_a_container_that_does_not_start_keeps_its_data(tmp_path, podman):
    way, log, state = podman
    server = server_of(tmp_path, state)
    server.start(way)
    server.stop({"podman": way.program}.get)
    (tmp_path / "busy").touch()
    with pytest.raises(
        StoreError, match=r"the container stackci-quickstart-1 of podman does not start: port is already"
    ):
        server.start(way)
    assert state.exists() and "\nrm " not in log.read_text()


def test_a_container_for_another_port_is_made_anew(tmp_path, podman):
    way, log, state = podman
    state.write_text("false\n")
    server = server_of(tmp_path, state)
    server.port = 2346
    assert server.start(way)
    assert "--publish 127.0.0.1:2346:2181" in log.read_text()


def test_it_is_started_again_as_what_has_its_data(tmp_path, podman, home):
    way, _log, state = podman
    server = server_of(tmp_path, state)
    assert server.way(home, which=there("java", "podman")).kind == "java", "the first way of this machine"
    server.start(way)
    assert server.way(home, which=there("java", "podman")).kind == "podman"
    with pytest.raises(
        ConfigError, match="was started as a container of podman, which has its data: leave zookeeper_way=java"
    ):
        server.way(home, "java", there("java", "podman"))
    with pytest.raises(ConfigError, match="this machine has no podman"):
        server.way(home, which=there("java"))


def test_a_way_that_failed_does_not_bind(tmp_path, podman, home):
    way, _log, state = podman
    (tmp_path / "trouble").write_text("no such host\n")
    server = server_of(tmp_path, state)
    with pytest.raises(StoreError, match="stackci-quickstart-1 of podman cannot be started: no such host: check that"):
        server.start(way)
    assert server.started_as() == ""


def test_what_ran_before_there_was_a_note_is_a_java_process(tmp_path):
    server = server_of(tmp_path, tmp_path / "state")
    (Path(server.folder) / "data" / "version-2").mkdir(parents=True)
    assert server.started_as() == "java"


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        (
            "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
            "sudo systemctl start docker",
        ),
        (
            "Got permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock",
            "sudo usermod -aG docker",
        ),
        ("Unable to find image 'zookeeper:3.9' locally", "must reach the registry of zookeeper:3.9"),
        ("cannot clone: Operation not permitted", "check that this user can run containers"),
    ],
)
def test_containers_that_cannot_be_run_are_told_with_the_remedy(tmp_path, podman, said, remedy):
    (tmp_path / "trouble").write_text(f"{said}\n")
    with pytest.raises(ConfigError) as caught:
        check_way(Way("docker", podman[0].program))
    assert "cannot be started as a container of docker: " in str(caught.value) and remedy in str(caught.value)
    check_way(Way("java", "/nowhere"))


def test_a_container_is_not_forgotten_while_its_engine_does_not_answer(tmp_path, podman):
    way, _log, state = podman
    server = server_of(tmp_path, state)
    server.start(way)
    (tmp_path / "trouble").write_text("no daemon\n")
    for programs, told in (({"podman": way.program}.get, "no daemon"), (there(), "this machine has no podman")):
        with pytest.raises(StoreError, match=f"stackci-quickstart-1 of podman cannot be looked for: {told}"):
            server.remove(programs)
    assert Path(server.folder).exists()


def test_a_process_whose_folder_was_removed_is_ended_before_a_new_one(tmp_path, podman):
    way, _log, state = podman
    ended: list[int] = []
    server = server_of(tmp_path, state)
    server.pids = lambda: [] if ended else [1]  # type: ignore[method-assign]
    server._end_java = lambda: ended.append(1)  # type: ignore[method-assign]
    assert server.start(way) and ended


def test_a_process_that_hangs_is_told(tmp_path):
    now = iter(range(0, 1000, 20))
    state = tmp_path / "state"
    server = server_of(tmp_path, state, clock=lambda: float(next(now)), sleep=lambda seconds: None)
    Path(server.folder).mkdir()
    Path(server.config).touch()
    server.pids = lambda: [77]  # type: ignore[method-assign]
    with pytest.raises(StoreError, match="its process 77 hangs: end it with -e state=stopped, then repeat"):
        server.start(Way("java", "java", "jars"))
