# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher in its loop: real ansible-runner, real ZooKeeper, simulated cloud; killed, hung, stopped, reloaded."""

from __future__ import annotations

import contextlib
import json
import os
import pstats
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop import processes
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, provider
from tests.support.loop_process import UP_SECONDS, LoopProcess

pytestmark = pytest.mark.timeout(240)


def loop_of(
    site: Site,
    *,
    humble: bool = False,
    forked: bool = False,
    more: dict[str, str] | None = None,
    variables: dict[str, str] | None = None,
    **changes: object,
) -> LoopProcess:
    """The launcher's loop on a test's site."""
    known = {"nodepool_config": str(site.config), "nodepool_clouds_config": str(site.clouds_yaml)}
    table = {"playbook": "stackci.nodepool.launcher", "duration": 600, **changes}
    return LoopProcess(site.folder, table, {**known, **(variables or {})}, humble=humble, forked=forked, more=more)


def served(site: Site, seconds: float = 30.0) -> None:
    """A request is fulfilled."""
    site.requestor.wait_for(site.requestor.ask("small"), seconds=seconds)


@pytest.mark.long
def test_cycles_follow_each_other_and_requests_are_served_meanwhile(site: Site):
    site.configure()
    with loop_of(site, forked=True, duration=3) as loop:
        first = loop.wait_serving()
        served(site)
        second = loop.wait_serving(after=first)
        served(site)
        third = loop.wait_serving(after=second)
        served(site)
        eventually(lambda: [line for line in loop.lines() if line.startswith(f"cycle {second} ok")], UP_SECONDS)
        assert third > second > first
        assert loop.end() == 0
        assert loop.everything() == []
    # On a busy machine there are lines about its pace as well, and the cycle that served a request may be the next one.
    told = [re.match(r"cycle \d+ ok after .*: (\d+) requests? fulfilled, 0 failed", line) for line in loop.lines()]
    assert sum(int(line[1]) for line in told if line) == 3, loop.lines()


def go_on_after(site: Site, loop: LoopProcess, number: int, victim: str) -> int:
    """Kill somebody in a cycle while nodes boot; the number of the next cycle, which finishes them."""
    before = {server["id"] for server in site.cloud.servers()}
    requests = [site.requestor.ask("small") for _number in range(3)]
    eventually(lambda: len(site.cloud.servers()) == len(before) + 3)
    servers = {server["id"] for server in site.cloud.servers()}
    os.kill(the_process(loop, number, victim), signal.SIGKILL)
    after = loop.wait_serving(after=number)
    for request in requests:
        site.requestor.wait_for(request)
    assert {server["id"] for server in site.cloud.servers()} == servers
    eventually(lambda: not [mark for mark in loop.marks() if f":{number}:" in mark])
    assert loop.serving() == after
    return after


@pytest.mark.long
@pytest.mark.timeout(480)
def test_after_each_kill_the_next_goes_on_and_no_request_is_lost(site: Site):
    site.configure()
    site.cloud.settings(boot=3.0)
    with loop_of(site) as loop:
        number = loop.wait_serving()
        for victim in ("module", "ansible-playbook", "ansible-runner"):
            number = go_on_after(site, loop, number, victim)
        assert loop.end() == 0


def the_process(loop: LoopProcess, number: int, victim: str) -> int:
    """Somebody in a cycle."""
    if victim == "module":
        return loop.module(number)
    found = [
        process.pid
        for process in loop.everything()
        if victim.encode() in (Path("/proc") / str(process.pid) / "cmdline").read_bytes().split(b"\0")[1]
    ]
    return min(found)


def test_a_cycle_that_hangs_is_ended_and_the_next_goes_on(site: Site):
    site.configure()
    with loop_of(site, heartbeat=5) as loop:
        first = loop.wait_serving()
        module = loop.module(first)
        os.kill(module, signal.SIGSTOP)
        eventually(lambda: processes.find(module) is None, 20.0)
        loop.wait_serving(after=first)
        served(site)
        assert any(f"cycle {first} is killed: no heartbeat for 5 s" in line for line in loop.lines())
        assert loop.end() == 0


def test_sigterm_ends_all_in_good_order_and_what_boots_is_left_to_the_next(site: Site):
    site.configure()
    site.cloud.settings(boot=1000.0)
    with loop_of(site, forked=True) as loop:
        loop.wait_serving()
        request = site.requestor.ask("small")
        eventually(site.cloud.servers)
        assert loop.end() == 0
        assert loop.everything() == []
        assert not any("by force" in line for line in loop.lines())
        eventually(site.cloud.end_boots)
        loop.start()
        site.requestor.wait_for(request, seconds=UP_SECONDS)
        assert len(site.cloud.calls("POST /servers")) == 1
        assert loop.end() == 0


def test_a_loop_that_was_killed_leaves_nothing_and_the_next_one_serves(site: Site):
    site.configure()
    with loop_of(site) as loop:
        first = loop.wait_serving()
        loop.process.kill()
        loop.process.wait(10)
        loop.start()
        loop.wait_serving(after=first)
        served(site)
        assert {mark.split(":")[1] for mark in loop.marks()} == {str(first + 1)}
        assert loop.end() == 0


def test_systemd_hears_of_it_a_second_loop_goes_away_and_sighup_takes_new_settings_without_a_gap(site: Site):
    site.configure()
    with loop_of(site, forked=True) as loop:
        first = loop.wait_serving()
        eventually(lambda: "READY=1" in loop.heard())
        eventually(lambda: loop.heard().count("WATCHDOG=1") >= 3)
        eventually(lambda: any(word.startswith(f"STATUS=cycle {first} serving") for word in loop.heard()))
        process = loop.process
        loop.start()
        assert loop.process.wait(20) == 75
        assert "STOPPING=1" not in loop.heard()
        loop.process = process
        loop.configure(duration=300)
        loop.signal(signal.SIGHUP)
        second = loop.wait_serving(after=first)
        served(site)
        eventually(lambda: [line for line in loop.lines() if line.startswith(f"cycle {first} ok")], UP_SECONDS)
        assert loop.serving() == second
        assert loop.end() == 0
        assert "STOPPING=1" in loop.heard()


def test_settings_that_cannot_be_used_end_it_for_good(site: Site):
    site.configure()
    with loop_of(site, duration=-1) as loop:
        assert loop.process.wait(20) == 78
    assert loop.lines() == [f"{loop.file}: loop.duration: is -1: give more than 0"]


def test_a_broken_configuration_is_told_and_the_service_waits_for_its_repair(site: Site):
    site.configure()
    text = site.config.read_text("utf-8")
    site.config.write_text(text.replace('"labels"', '"lables"', 1), encoding="utf-8")
    with loop_of(site, forked=True, longest_pause=2) as loop:
        line = eventually(lambda: next((line for line in loop.lines() if line.startswith("cycle 1 ")), ""), UP_SECONDS)
        assert line.startswith("cycle 1 failed") and "is not defined at the top" in line
        eventually(lambda: "READY=1" in loop.heard())
        site.config.write_text(text, encoding="utf-8")
        loop.wait_serving()
        served(site)
        assert loop.end() == 0


def capabilities(pid: int) -> int:
    """What a process may do beyond what everybody may."""
    status = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    return int(next(line.split()[1] for line in status if line.startswith("CapEff:")), 16)


def test_it_works_without_any_privilege(site: Site):
    site.configure()
    with loop_of(site, humble=True) as loop:
        first = loop.wait_serving()
        served(site)
        module = loop.module(first)
        assert capabilities(module) == capabilities(loop.process.pid) == 0
        os.kill(module, signal.SIGSTOP)
        os.kill(the_process(loop, first, "ansible-playbook"), signal.SIGKILL)
        loop.wait_serving(after=first)
        served(site)
        eventually(lambda: not [mark for mark in loop.marks() if f":{first}:" in mark])
        assert loop.end() == 0
        assert loop.everything() == []


BROKEN = "Flavor's disk is too small for requested image."


def test_why_a_node_failed_is_in_the_journal_alone(site: Site):
    """What a cycle says is there in full, with its priority, and the line of the cycle names what failed and waits."""
    site.configure(provider("one", launch_retries=1))
    site.cloud.fault("POST /servers", "error", seconds=0.1, message=BROKEN)
    with loop_of(site, forked=True, more={"JOURNAL_STREAM": "8:1"}) as loop:
        number = loop.wait_serving()
        request = site.requestor.ask("small")
        site.requestor.wait_for(request, "failed", seconds=60.0)
        eventually(lambda: [line for line in loop.lines() if f"request {request}: failed" in line])
        (begun,) = [line for line in loop.lines() if ": launching small in one/main" in line]
        node = begun.partition(" node ")[2].partition(":")[0]
        told = [line for line in loop.lines() if f": node {node}: " in line and BROKEN in line]
        assert told and all(line.startswith(f"<4>cycle {number}: ") for line in told)
        assert begun.startswith(f"<6>cycle {number}: ") and f"for request {request}" in begun
        assert loop.end() == 0
        (end,) = [line for line in loop.lines() if f"cycle {number} with trouble after" in line]
        assert end.startswith("<4>") and f"request {request} failed: " in end and BROKEN in end


def test_as_json_every_line_is_an_object_that_names_request_node_and_event(site: Site):
    site.configure()
    with loop_of(site, forked=True, log_format="json") as loop:
        number = loop.wait_serving()
        request = site.requestor.ask("small")
        node = site.requestor.wait_for(request)["nodes"][0]
        event = site.requestor.request(request)["event_id"]
        assert loop.end() == 0
    lines = [json.loads(line) for line in loop.lines()]
    assert all({"time", "level", "loop", "message"} <= line.keys() for line in lines)
    told = [line for line in lines if line.get("request") == request]
    assert {line["cycle"] for line in told} == {number} and {line["event_id"] for line in told} == {event}
    assert [line for line in told if line["message"].startswith(f"node {node}: ready after") and line["node"] == node]
    assert "secret-of-" not in loop.log.read_text("utf-8")


def test_sigusr2_for_all_processes_writes_what_the_cycle_does_and_ends_nothing(site: Site, tmp_path: Path):
    site.configure()
    profile = tmp_path / "cycle.prof"
    with loop_of(site, variables={"nodepool_profile": str(profile)}, log_format="json") as loop:
        number = loop.wait_serving()
        before = [the_process(loop, number, name) for name in ("module", "ansible-playbook", "ansible-runner")]
        # As "systemctl kill" does: the loop, ansible-runner, ansible-playbook, its worker and the module.
        for pid in (loop.process.pid, *(process.pid for process in loop.everything())):
            os.kill(pid, signal.SIGUSR2)
        start = "provider one: creates: "
        told = eventually(lambda: [line for line in documents(loop) if line["message"].startswith(start)])
        assert {line["cycle"] for line in told} == {number} and {line["provider"] for line in told} == {"one"}
        messages = [line["message"] for line in documents(loop)]
        queues = ("ZooKeeper: connected", "inbox: ", "requests: ", "launches: ", "removals: ", "provider one: calls: ")
        for start in ("loop launcher: asked for a dump", "thread MainThread: ", "thread control: ", *queues):
            assert any(message.startswith(start) for message in messages), start
        assert any(" < run (loop.py:" in message for message in messages)
        served(site)
        assert before == [the_process(loop, number, name) for name in ("module", "ansible-playbook", "ansible-runner")]
        assert loop.serving() == number
        assert loop.end() == 0
    assert not any("by force" in line for line in loop.lines())
    assert any(name == "turn" for _file, _line, name in pstats.Stats(str(profile)).stats)  # type: ignore[attr-defined]


def documents(loop: LoopProcess) -> list[dict[str, Any]]:
    """The lines of a loop that writes JSON; the last one may be half written."""
    found = []
    for line in loop.lines():
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found
