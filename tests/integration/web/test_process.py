# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The service as systemd, a module and a playbook start and end it."""

from __future__ import annotations

import importlib
import os
import signal
import socket
import subprocess
import sys
from typing import Any

import pytest
import yaml

from tests.support.ansible_run import (
    COLLECTIONS,
    MODULES,
    ROOT,
    environment,
    forking,
    run_alone,
    run_module,
    warm_ansible,
)
from tests.support.documented import differences
from tests.support.fixtures_zookeeper import eventually
from tests.support.web_service import ask, write_config
from tests.support.zookeeper_server import HOST, free_port

PROGRAM = "ansible_collections.stackci.nodepool.plugins.plugin_utils.webapp"
PATIENCE = 60


def begun(folder, command, **more: str) -> subprocess.Popen[str]:
    """A process in *folder*; *more* is its environment."""
    return subprocess.Popen(
        list(map(str, command)),
        cwd=folder,
        env=more,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def program(folder, *arguments: Any, **more: str) -> subprocess.Popen[str]:
    """The service as a unit starts it."""
    variables = environment(folder, PYTHONPATH=str(COLLECTIONS), **more)
    return begun(folder, [sys.executable, "-m", PROGRAM, *arguments], **variables)


def forked(folder, *arguments: Any) -> subprocess.Popen[str]:
    """The same from a process that has imported it."""
    file = ROOT / "plugins" / "plugin_utils" / "webapp.py"
    return begun(folder, [warm_ansible().python, file, *arguments], **environment(folder))


def answers(port: int) -> bool:
    """Whether it serves."""
    try:
        return ask(f"http://{HOST}:{port}/", "/health").status == 200
    except ConnectionRefusedError:
        return False


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit code and output."""
    output, _none = process.communicate(timeout=PATIENCE)
    return process.returncode, output


@pytest.fixture
def config(tmp_path, zk_chroot):
    return write_config(tmp_path / "nodepool.yaml", zk_chroot)


def test_systemd_hears_that_it_serves_that_it_goes_on_and_that_it_ends(tmp_path, config):
    port, name = free_port(), str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(name)
        systemd.settimeout(PATIENCE)
        process = program(tmp_path, "--config", config, "--port", port, NOTIFY_SOCKET=name, WATCHDOG_USEC="2000000")
        told = [systemd.recv(4096).decode() for _number in range(2)]
        assert f"READY=1\nSTATUS=listening on http://{HOST}:{port}/" in told
        assert "WATCHDOG=1" in told
        assert answers(port)
        process.send_signal(signal.SIGTERM)
        assert ended(process)[0] == 0
        systemd.settimeout(0.0)
        last = ""
        while not last.startswith("STOPPING=1"):
            last = systemd.recv(4096).decode()


def test_it_starts_with_another_configuration_that_is_written_later(tmp_path, zk_chroot, config):
    port = free_port()
    process = forked(tmp_path, "--config", config, "--port", port)
    try:
        eventually(lambda: answers(port), PATIENCE)
        eventually(lambda: ask(f"http://{HOST}:{port}/", "/ready").text == "OK", PATIENCE)
        pools = [{"name": "main", "max-servers": 1, "networks": ["n"], "labels": []}]
        write_config(config, zk_chroot, providers=[{"name": "west", "cloud": "west", "pools": pools}])
        eventually(lambda: "provider west" in ask(f"http://{HOST}:{port}/", "/ready").text, PATIENCE)
    finally:
        process.terminate()
        output = ended(process)[1]
    assert "configuration: read again" in output


@pytest.mark.parametrize("arguments", [[], ["--check"]])
def test_a_configuration_that_cannot_be_used_needs_another_one_and_no_restart(tmp_path, arguments):
    (tmp_path / "nodepool.yaml").write_text("labels: 7\n", encoding="utf-8")
    code, output = ended(forked(tmp_path, "--config", tmp_path / "nodepool.yaml", *arguments))
    assert code == 78
    assert "labels" in output
    assert "Traceback" not in output


def test_check_says_that_the_configuration_can_be_used(tmp_path, config):
    assert ended(forked(tmp_path, "--config", config, "--check")) == (0, "")


def test_an_address_that_is_taken_is_tried_again_later(tmp_path, config):
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        code, output = ended(forked(tmp_path, "--config", config, "--port", port))
    assert code == 75
    assert str(port) in output


def test_the_module_returns_what_it_says_it_returns(tmp_path, config):
    ran = run_alone("nodepool_webapp", {"config": str(config), "port": 0, "duration": 0}, tmp_path)
    assert ran.result["ended"] == "duration"
    block = importlib.import_module(f"{MODULES}.nodepool_webapp").RETURN
    shown = {name: value for name, value in ran.result.items() if name not in ("failed", "invocation", "warnings")}
    assert differences(block, shown, check=False) == []


def test_check_mode_listens_nowhere(tmp_path, config):
    with socket.create_server((HOST, 0)) as taken:
        options = {"config": str(config), "port": taken.getsockname()[1]}
        assert run_alone("nodepool_webapp", options, tmp_path, check=True).result["address"] is None
        assert "cannot be opened" in run_alone("nodepool_webapp", options, tmp_path).result["msg"]


def test_the_module_by_ansible_shows_its_address(tmp_path, config):
    ran = run_module("nodepool_webapp", {"config": str(config), "port": 0, "duration": 0}, tmp_path)
    assert f"listening on {ran.result['address']}" in ran.screen


@pytest.mark.parametrize(("word", "in_place"), [("control file", True), ("control file", False), ("SIGINT", True)])
def test_the_playbook_serves_until_it_is_told_to_end(tmp_path, config, word, in_place):
    port, control = free_port(), tmp_path / "control"
    variables = {"nodepool_config": str(config), "webapp_port": port, "webapp_control_file": str(control)}
    variables["nodepool_in_place"] = in_place
    (tmp_path / "variables.yml").write_text(yaml.safe_dump(variables), encoding="utf-8")
    command = ["ansible-playbook", ROOT / "playbooks" / "webapp.yml", "-e", f"@{tmp_path / 'variables.yml'}"]
    # Ctrl-C is for the real one.
    process = begun(tmp_path, command, **(environment if word == "SIGINT" else forking)(tmp_path))
    eventually(lambda: answers(port), PATIENCE)
    address = f"http://{HOST}:{port}/"
    eventually(lambda: ask(address, "/node-list").status == 200, PATIENCE)
    page = ask(address, "/")
    assert page.status == 200, "a packed module takes the page's files from the collection on this machine"
    assert "<!DOCTYPE html>" in page.text
    if word == "SIGINT":
        os.kill(process.pid, signal.SIGINT)
    else:
        control.write_text("stop", encoding="utf-8")
    code, output = ended(process)
    assert not answers(port)
    if word == "control file":
        assert code == 0, output
        assert "listening on" in output
