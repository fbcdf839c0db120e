# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From one cycle to the next on the same host: killed, stopped by file, left alone by its controller."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from tests.support.ansible_run import ModuleProcess
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site
from tests.support.launcher_process import START_SECONDS, LauncherProcess

FOR_EVER = 1000.0
"""Longer than any test may take."""
SESSION = FOR_EVER
"""What comes after a death does not come from the end of the session; how soon, the benchmark measures."""


class Module:
    """The module as a process of its own, without Ansible around it."""

    def __init__(self, site: Site, name: str, **options: Any) -> None:
        clouds = {"config": site.options().config, "clouds_config": site.options().clouds_config}
        self.control = site.folder / f"{name}.control"
        arguments = {
            **clouds,
            "until": "deadline",
            "duration": 120,
            "control_file": str(self.control),
            "state_dir": str(site.folder / "state"),
            **options,
        }
        self.process = ModuleProcess("node_launch", arguments, site.folder, f"{name}.json")

    def __enter__(self) -> Module:
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self.process.kill()
        self.process.communicate(timeout=20)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)

    def result(self) -> dict[str, Any]:
        return self.process.result(30)


def registrations(site: Site) -> set[str]:
    """The pools that are registered now, by znode."""
    client = site.requestor.client
    path = "/nodepool/components/pool"
    return set(client.get_children(path)) if client.exists(path) else set()


def test_after_a_kill_the_standby_acts_long_before_the_session_ends(site: Site):
    site.configure(zookeeper_timeout=SESSION)
    site.cloud.settings(boot=3.0)
    requestor = site.requestor
    with Module(site, "first") as first:
        before = eventually(lambda: registrations(site), START_SECONDS)
        with Module(site, "second") as second:
            # Its first lines of work are over when it has opened its session. On a busy machine that takes longer than
            # servers need to boot, so it comes first.
            eventually(lambda: len(list((site.folder / "state").iterdir())) >= 2, START_SECONDS)
            requests = [requestor.ask("small") for _number in range(3)]
            eventually(lambda: len(site.cloud.servers()) == 3)
            servers = {server["id"] for server in site.cloud.servers()}
            first.kill()
            eventually(lambda: registrations(site) - before)
            for request in requests:
                requestor.wait_for(request)
            second.control.write_text("stop", encoding="utf-8")
            result = second.result()
    assert sorted(result["nodes"]["adopted"]) and result["requests"]["fulfilled"]
    assert {server["id"] for server in site.cloud.servers()} == servers
    assert len(site.cloud.calls("POST /servers")) == 3


def test_a_successor_that_starts_after_the_kill_need_not_wait_for_the_session(site: Site):
    site.configure(zookeeper_timeout=SESSION)
    with Module(site, "first") as first:
        before = eventually(lambda: registrations(site), START_SECONDS)
        first.kill()
        with Module(site, "second"):
            eventually(lambda: registrations(site) - before, START_SECONDS)


def test_the_session_of_a_living_cycle_is_left_alone(site: Site):
    site.configure(zookeeper_timeout=SESSION)
    with Module(site, "first") as first:
        before = eventually(lambda: registrations(site), START_SECONDS)
        with Module(site, "second", duration=3) as second:
            result = second.result()
        assert result["stood_by_for"] == ["one"] and result["acted_for"] == []
        assert registrations(site) == before
        site.requestor.wait_for(site.requestor.ask("small"))
        assert first.process.poll() is None


def test_word_between_cycles_is_private(site: Site):
    site.configure()
    with Module(site, "first"):
        eventually(lambda: registrations(site), START_SECONDS)
        folder = site.folder / "state"
        assert folder.stat().st_mode & 0o077 == 0
        files = [path for path in folder.iterdir() if path.is_file() and path.stat().st_size]
        # The note of the session, and the files that the next cycle may need.
        kinds = sorted(path.name.partition("-")[0] for path in files)
        assert kinds == ["clouds", "configuration", "session"]
        assert [path for path in files if path.stat().st_mode & 0o077] == []


def test_stop_by_file_ends_in_good_order(site: Site):
    site.configure()
    site.cloud.settings(boot=FOR_EVER)
    with Module(site, "first") as first:
        eventually(lambda: registrations(site), START_SECONDS)
        request = site.requestor.ask("small")
        eventually(site.cloud.servers)
        first.control.write_text("stop\n", encoding="utf-8")
        eventually(lambda: not registrations(site))
        assert first.result()["ended"] == "stopped"
    eventually(site.cloud.end_boots)
    assert site.run()["requests"]["fulfilled"] == [request]
    assert len(site.cloud.calls("POST /servers")) == 1


def test_a_signal_ends_in_good_order_too(site: Site):
    site.configure()
    with Module(site, "first") as first:
        eventually(lambda: registrations(site), START_SECONDS)
        first.process.send_signal(signal.SIGTERM)
        eventually(lambda: not registrations(site), 5.0)
        assert first.result()["ended"] == "stopped"


def test_a_module_whose_controller_was_killed_ends_by_itself(site: Site):
    site.configure(zookeeper_timeout=SESSION)
    with LauncherProcess(site, launcher_until="deadline", launcher_duration=120) as process:
        eventually(lambda: registrations(site), START_SECONDS)
        (module,) = process.modules()
        process.kill_controller()
        eventually(lambda: not registrations(site), 10.0)
        eventually(lambda: not Path(f"/proc/{module}").exists(), 10.0)
