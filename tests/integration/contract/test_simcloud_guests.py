# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guests of the simulated cloud: a real sshd from ACTIVE on until the deletion begins, and nothing left behind."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import time

import openstack
import pytest

from tests.support.simcloud_process import SimCloud, default_cloud

pytestmark = pytest.mark.skipif(
    shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin") is None or shutil.which("ssh") is None,
    reason="the guests need sshd and ssh (openssh-server, openssh-client)",
)
CLOUD = "guests"
SECONDS = 20.0


def wait(condition):
    limit = time.monotonic() + SECONDS
    while time.monotonic() < limit:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"did not happen within {SECONDS} s")


@pytest.fixture(scope="module")
def user_key(tmp_path_factory):
    path = tmp_path_factory.mktemp("key") / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True, timeout=30)
    return path


def start(user_key, **guests):
    spec = {"authorized_keys": f"{user_key}.pub", **guests}
    return SimCloud(default_cloud(CLOUD, boot=0.2, delete=0.1, quota_race=0.05, guests=spec)).start()


@pytest.fixture
def sim(user_key):
    running = start(user_key)
    yield running
    running.stop()


def boot(sim, name="one"):
    config = openstack.config.OpenStackConfig(config_files=[str(sim.clouds_yaml)], load_envvars=False)
    conn = openstack.connection.Connection(config=config.get_one(CLOUD))
    server = conn.compute.create_server(
        name=name,
        flavor_id=conn.compute.find_flavor("small").id,
        image_id=conn.image.find_image("ubuntu").id,
        networks=[{"uuid": conn.network.find_network("private").id}],
    )
    server = conn.compute.wait_for_server(server, interval=0.05, wait=SECONDS)
    return conn, server, server.addresses["private"][0]["addr"]


def reachable(address, port):
    try:
        with socket.create_connection((address, port), timeout=1):
            return True
    except OSError:
        return False


def ssh(user_key, address, port, *command):
    options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR", "IdentitiesOnly=yes"]
    line = ["ssh", "-i", str(user_key), "-p", str(port)]
    for option in options:
        line += ["-o", option]
    return [*line, address, *command]


def host_keys(address, port):
    line = ["ssh-keyscan", "-T", "5", "-t", "ed25519", "-p", str(port), address]
    rows = subprocess.run(line, capture_output=True, text=True, timeout=30, check=False).stdout.splitlines()
    return [" ".join(row.split()[1:3]) for row in rows]


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_guest_lives_as_long_as_its_server(sim, user_key):
    conn, server, address = boot(sim)
    port = sim.ssh_port(CLOUD)
    assert address.startswith("127.") and address != "127.0.0.1"
    wait(lambda: reachable(address, port))
    done = subprocess.run(
        ssh(user_key, address, port, "id -un"), capture_output=True, text=True, timeout=30, check=False
    )
    assert done.stdout.strip() == getpass.getuser(), done.stderr
    assert host_keys(address, port) == sim.servers(CLOUD)[0]["host_keys"]
    floating = conn.create_floating_ip(network="public", server=server, wait=True, timeout=SECONDS)
    wait(lambda: reachable(floating.floating_ip_address, port))
    conn.compute.delete_server(server)
    wait(lambda: not reachable(address, port))
    assert not reachable(floating.floating_ip_address, port)


def test_each_guest_has_its_own_host_key(sim):
    _conn, _server, first = boot(sim, "one")
    _conn, _server, second = boot(sim, "two")
    port = sim.ssh_port(CLOUD)
    wait(lambda: reachable(first, port) and reachable(second, port))
    assert host_keys(first, port) != host_keys(second, port)


def test_shared_guests_have_the_same_host_key(user_key):
    sim = start(user_key, mode="shared")
    try:
        _conn, _server, first = boot(sim, "one")
        _conn, _server, second = boot(sim, "two")
        port = sim.ssh_port(CLOUD)
        wait(lambda: reachable(first, port) and reachable(second, port))
        assert host_keys(first, port) == host_keys(second, port) != []
    finally:
        sim.stop()


def test_an_unreachable_guest(sim):
    sim.fault(CLOUD, None, "unreachable", name="cut-off")
    _conn, _server, cut_off = boot(sim, "cut-off")
    _conn, _server, normal = boot(sim, "normal")
    port = sim.ssh_port(CLOUD)
    wait(lambda: reachable(normal, port))
    assert not reachable(cut_off, port)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_behind(user_key, number):
    sim = start(user_key)
    session = None
    try:
        _conn, _server, address = boot(sim)
        port = sim.ssh_port(CLOUD)
        wait(lambda: reachable(address, port))
        script = "setsid sleep 900 </dev/null >/dev/null 2>&1 & echo $!; exec sleep 901"
        session = subprocess.Popen(ssh(user_key, address, port, script), stdout=subprocess.PIPE, text=True)
        assert session.stdout is not None
        background = int(session.stdout.readline())
        assert alive(background)
        assert sim.process is not None
        sim.process.send_signal(number)
        sim.process.wait(SECONDS)
        wait(lambda: not alive(background))
        assert session.wait(SECONDS) != 0
        assert not reachable(address, port)
    finally:
        sim.stop()
        if session is not None:
            session.kill()
            session.communicate(timeout=SECONDS)


def test_the_state_directory_goes_with_the_helper(user_key):
    sim = start(user_key)
    folder = sim.state_dir
    assert (folder / "ready.json").exists()
    sim.stop()
    assert not folder.exists()
