# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes are handed over when they pass the probe of their label or image, by real sshd guests."""

from __future__ import annotations

import getpass
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from tests.support.ansible_run import ROOT, command
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Cloud, Site, pool, provider
from tests.support.simcloud_process import SimCloud, default_cloud

CLOUDS = 20
GIVEN = iter(range(CLOUDS))


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A private key; the guests let its public half in."""
    folder = tmp_path_factory.mktemp("keys")
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(str(folder / "key"))
    key.write_public_key(str(folder / "key.pub"))
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(str(folder / "other"))
    return folder


@pytest.fixture(scope="module")
def sim(keys: Path) -> Iterator[SimCloud]:
    guests = {"mode": "each", "authorized_keys": str(keys / "key.pub")}
    documents: dict[str, Any] = {}
    for number in range(CLOUDS):
        documents |= default_cloud(f"probe-{number}", boot=0.15, delete=0.0, quota_race=0.02, guests=guests)
    with SimCloud(documents) as running:
        yield running


@pytest.fixture
def use(site: Site, sim: SimCloud) -> Any:
    """Writes a configuration with a probe of the label or of the image, and returns the cloud."""

    def configure(of: str = "label", **probe: Any) -> Cloud:
        cloud = site.use_cloud(Cloud(sim, f"probe-{next(GIVEN)}"))
        images = [{"name": "debian-12", "username": getpass.getuser(), "connection-port": cloud.ssh_port()}]
        options = {"boot_timeout": 20, "cloud_images": images}
        site.configure(provider("one", pool("main", host_key_checking=True), **options))
        write(site, of, **probe)
        return cloud

    return configure


def write(site: Site, of: str, **probe: Any) -> None:
    probe = {name.replace("_", "-"): value for name, value in probe.items()}
    if of == "label":
        document: dict[str, Any] = {"labels": [{"name": "small", "probe": probe}]}
    else:
        document = {"providers": [{"name": "one", "cloud-images": [{"name": "debian-12", "probe": probe}]}]}
    site.config.with_name("nodepool-settings.yaml").write_text(json.dumps(document), "utf-8")


@pytest.mark.parametrize("of", ["label", "image"])
def test_a_node_is_handed_over_when_its_command_has_passed(site: Site, use: Any, keys: Path, tmp_path: Path, of: str):
    mark = tmp_path / "ready"
    use(of, command=f"test -e {mark}", key_file=str(keys / "key"), interval=1, timeout=60)
    request = site.requestor.ask("small")
    with site.stay() as cycle:
        eventually(lambda: "probing" in phases(site))
        assert site.requestor.state(request) == "pending"
        mark.write_text("", "utf-8")
        site.requestor.wait_for(request)
    (node,) = site.requestor.nodes_of(request)
    timings = cycle.end()["nodes"]["timings"][node]
    assert timings["scanned"] <= timings["probed"] <= timings["ready"]
    assert len(site.cloud.servers()) == 1


def phases(site: Site) -> set[str]:
    launches = [site.requestor.read(f"/nodepool/stackci/launches/{name}") for name in launches_of(site)]
    return {str((launch or {}).get("phase")) for launch in launches}


def launches_of(site: Site) -> list[str]:
    client = site.requestor.client
    return (
        list(client.get_children("/nodepool/stackci/launches")) if client.exists("/nodepool/stackci/launches") else []
    )


def test_a_port_must_accept_connections(site: Site, use: Any):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        number = closed.getsockname()[1]
    use(port=number, interval=1, timeout=2)
    request = site.requestor.ask("small")
    ran = command("ansible-playbook", ROOT / "playbooks" / "launcher.yml", "-e", site.variables(), folder=site.folder)
    assert site.requestor.state(request) == "failed", ran.stdout
    assert "probe: the probe has not passed within 2 s" in ran.stdout
    assert f"port {number} of 127." in ran.stdout and "accepts no connection" in ran.stdout
    assert "[owner: image]" in ran.stdout


def test_a_command_that_fails_is_told_with_the_end_of_its_output(site: Site, use: Any, keys: Path):
    script = "seq 1 200000; echo; echo disk is full >&2; exit 3"
    use(command=script, key_file=str(keys / "key"), interval=1, timeout=3)
    request = site.requestor.ask("small")
    result = site.run()
    assert site.requestor.state(request) == "failed"
    (failed,) = result["nodes"]["failed"]
    assert len(failed["failures"]) == 3
    for text in failed["failures"]:
        assert "ended with 3; its output ends with: " in text and "disk is full" in text and "200000" in text
        assert len(text.encode()) < 1200 and "\n" not in text


def test_secrets_are_hidden_in_the_output_of_a_command(site: Site, use: Any, keys: Path):
    cloud = use(command="true", port=1)
    script = f"echo login with {cloud.password} failed; echo token: abcdef0123; exit 3"
    write(site, "label", command=script, key_file=str(keys / "key"), interval=1, timeout=2)
    request = site.requestor.ask("small")
    with site.stay() as cycle:
        site.requestor.wait_for(request, "failed", seconds=60.0)
    told = "\n".join(cycle.lines)
    assert "login with *** failed token: ***" in told
    kept = b"".join(data for data, *_more in site.requestor.tree().values() if data)
    for secret in (cloud.password, "abcdef0123"):
        assert secret not in told and secret.encode() not in kept


def test_a_command_that_hangs_ends_at_its_time(site: Site, use: Any, keys: Path):
    use(command="echo waits for the network; sleep 600", key_file=str(keys / "key"), timeout=2)
    request = site.requestor.ask("small")
    result = site.run()
    assert site.requestor.state(request) == "failed"
    (failed,) = result["nodes"]["failed"]
    assert all("has not ended; its output ends with: waits for the network" in text for text in failed["failures"])
    eventually(lambda: site.cloud.servers() == [])


@pytest.mark.parametrize(
    ("name", "owner", "words"),
    [
        ("other", "image", "Permission denied"),
        ("nothing", "us", "nothing cannot be read: No such file or directory: name a private key"),
        ("key.pub", "us", "key.pub is not a private key without a passphrase: name another one"),
    ],
)
def test_a_key_that_does_not_fit_is_told_with_its_owner(
    site: Site, use: Any, keys: Path, name: str, owner: str, words: str
):
    use(command="true", key_file=str(keys / name), interval=1, timeout=2)
    site.requestor.ask("small")
    with site.stay() as cycle:
        eventually(lambda: any(words in line and f"[owner: {owner}]" in line for line in cycle.lines))


def test_one_connection_is_kept_for_all_attempts(site: Site, use: Any, keys: Path, tmp_path: Path):
    """sshd sets SSH_CONNECTION: with the port of the client, one for each connection."""
    seen = tmp_path / "seen"
    script = f'echo $SSH_CONNECTION >> {seen}; test "$(wc -l < {seen})" -ge 3'
    use(command=script, key_file=str(keys / "key"), interval=1, timeout=60)
    request = site.requestor.ask("small")
    site.run()
    assert site.requestor.state(request) == "fulfilled"
    lines = seen.read_text("utf-8").splitlines()
    assert len(lines) == 3 and len(set(lines)) == 1


def test_a_launch_is_continued_by_the_next_cycle_while_its_probe_runs(site: Site, use: Any, keys: Path, tmp_path: Path):
    mark = tmp_path / "ready"
    use(command=f"test -e {mark}", key_file=str(keys / "key"), interval=1, timeout=60)
    request = site.requestor.ask("small")
    with site.stay():
        eventually(lambda: "probing" in phases(site))
    (before,) = site.cloud.servers()
    mark.write_text("", "utf-8")
    site.run()
    assert site.requestor.state(request) == "fulfilled"
    assert [server["id"] for server in site.cloud.servers()] == [before["id"]]


ODD = {
    "a terminal": ("tty; test -t 0", "ended with 1; its output ends with: not a tty"),
    "letters that control a terminal": (
        r"printf '\033]0;title\007\033[2J\033[31mno\007 \342\200\256disk\n'; exit 4",
        "ended with 4; its output ends with: no",
    ),
    "an end that it refuses": (
        "trap '' TERM HUP INT PIPE; echo stays; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1; done",
        "has not ended; its output ends with: stays",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", ODD)
def test_a_command_does_odd_things(site: Site, use: Any, keys: Path, name: str):
    script, words = ODD[name]
    use(command=script, key_file=str(keys / "key"), interval=1, timeout=3)
    request = site.requestor.ask("small")
    result = site.run()
    assert site.requestor.state(request) == "failed"
    (failed,) = result["nodes"]["failed"]
    assert all(words in text and text.isprintable() for text in failed["failures"]), failed
    eventually(lambda: site.cloud.servers() == [])


def test_a_command_with_a_hundred_megabytes_of_output(site: Site, use: Any, keys: Path):
    use(command="head -c 100000000 /dev/zero | tr '\\0' x; echo; echo done", key_file=str(keys / "key"), timeout=120)
    request = site.requestor.ask("small")
    result = site.run()
    assert site.requestor.state(request) == "fulfilled", result["nodes"]
