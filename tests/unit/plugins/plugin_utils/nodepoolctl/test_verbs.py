# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a verb prints where, how it ends, and what Ctrl-C does."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudUnavailable,
    ConfigError,
    DeadlineExceeded,
    MissingLibraryError,
    OnlyLastState,
    PartlyFailed,
    Stopped,
    StoreDenied,
    StoreError,
    UnknownName,
)
from ansible_collections.stackci.nodepool.plugins.plugin_utils.nodepoolctl import commands, verbs
from ansible_collections.stackci.nodepool.plugins.plugin_utils.nodepoolctl.parser import parse
from ansible_collections.stackci.nodepool.plugins.plugin_utils.nodepoolctl.verbs import run
from tests.support.interrupts import heeded

NODE = {"id": "0000000007", "label": "small", "address": "192.0.2.7", "port": 22, "user": "zuul", "provider": "east"}
LEASED = {"changed": True, "lease": "web", "complete": True, "nodes": [{**NODE, "expires_at": 0.0}], "notices": []}


class Modules:
    """Stands for the functions of the modules: gives the answers in turn, and keeps the calls."""

    def __init__(self, *answers) -> None:
        self.answers = list(answers)
        self.calls: list[Any] = []

    def __call__(self, work, options, say, progress=None):
        self.calls.append((work, dict(options)))
        answer = self.answers.pop(0)
        if callable(answer):
            answer = answer()
        if isinstance(answer, BaseException):
            raise answer
        if progress is not None:
            progress("working")
        return answer


def end(line, *answers):
    modules = Modules(*answers)
    return run(parse(line.split()), modules), modules


def interrupt(number=signal.SIGINT):
    os.kill(os.getpid(), number)
    return AssertionError("the signal did not end the call")


def test_a_table_with_progress_on_the_other_stream(capsys):
    code, modules = end("lease web small", LEASED)
    said = capsys.readouterr()
    assert code == 0
    assert "| 0000000007 | small | 192.0.2.7 | 22   | zuul     | east     |" in said.out
    assert said.err == "working\n"
    ((work, options),) = modules.calls
    assert work is commands.LEASE
    assert (options["name"], options["labels"]) == ("web", ["small"])
    assert "timeout" not in options, "the default is the module's"


def test_json_is_what_the_module_returns_and_nothing_else(capsys):
    assert end("lease web small -o json", {**LEASED, "notices": ["renewed"]})[0] == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["nodes"][0]["id"] == "0000000007"
    assert said.err == "warning: renewed\nworking\n" or said.err == "working\nwarning: renewed\n"
    assert end("-q lease web small -o id", LEASED)[0] == 0
    assert capsys.readouterr() == ("0000000007\n", "")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (MissingLibraryError("kazoo"), 1),
        (StoreDenied("not allowed"), 1),
        (ConfigError(["nodepool.yaml: labels is missing"]), 2),
        (UnknownName(["there is no lease 'web'"]), 3),
        (DeadlineExceeded("late"), 4),
        (StoreError("no connection"), 5),
        (CloudUnavailable("no answer"), 5),
    ],
)
def test_exit_codes(error, code, capsys):
    assert end("release web", error)[0] == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("nodepoolctl: ")
    assert end("release web -o json", error)[0] == code
    assert json.loads(capsys.readouterr().out)["error_kind"] == type(error).__name__


def test_what_was_done_is_shown_beside_a_failure(capsys):
    rows = {"nodes": [{"id": "0000000007", "state": "hold", "refusal": "node 0000000007 is locked"}]}
    assert end("hold 0000000007", PartlyFailed("node 0000000007 is locked", rows))[0] == 1
    said = capsys.readouterr()
    assert "| 0000000007 |" in said.out and "nodepoolctl: node 0000000007 is locked" in said.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_gives_the_lease_back(number, capsys):
    with heeded(number):
        code, modules = end("lease web small --launch", lambda: interrupt(number), LEASED)
    assert code == 128 + number
    assert [options.get("state") for _work, options in modules.calls] == [None, "absent"]
    assert modules.calls[1][1]["launch"], "without a launcher nobody else deletes the servers"
    assert "lease web was released" in capsys.readouterr().err


def test_a_signal_that_the_launcher_took_gives_the_lease_back(capsys):
    code, modules = end("lease web small --launch", Stopped("ended"), LEASED)
    assert (code, len(modules.calls)) == (130, 2)
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("interrupted: lease web is being released")


def test_that_whoever_started_it_has_ended_is_said(capsys):
    code, modules = end("lease web small --launch", Stopped("ended", by_controller=True), LEASED)
    assert (code, len(modules.calls)) == (130, 2)
    assert capsys.readouterr().err.startswith("the process that started this command has ended: lease web is being")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_it_was_started_to_ignore_stays_ignored(number, capsys):
    before = signal.signal(number, signal.SIG_IGN)
    try:
        assert end("lease web small", lambda: (interrupt(number), LEASED)[1])[0] == 0
        assert signal.getsignal(number) == signal.SIG_IGN
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("second", [interrupt, lambda: StoreError("no connection")])
def test_what_stays_is_said(second, capsys):
    code, _modules = end("lease web small", interrupt, second)
    assert code == 130
    said = capsys.readouterr().err
    assert "lease web stays until it expires" in said and "nodepoolctl release web" in said


def test_another_verb_just_ends(capsys):
    code, modules = end("list", interrupt)
    assert (code, len(modules.calls)) == (130, 1)
    assert capsys.readouterr().out == ""


def test_why_is_text_for_people_and_facts_for_programs(capsys):
    assert end("why 100-0000000011", {"lines": ["request 100-0000000011: it waits"]})[0] == 0
    assert capsys.readouterr().out == "request 100-0000000011: it waits\n"
    for name, work in (("100-0000000011", commands.REQUEST_INFO), ("0000000007", commands.NODE_INFO)):
        _code, modules = end(f"why {name} -o json", {"nodes": []})
        assert modules.calls[0][0] is work and modules.calls[0][1]["ids"] == [name]
    _code, modules = end("why acceptance-42 -o json", {"leases": []})
    assert modules.calls[0][0] is commands.LEASE_INFO and modules.calls[0][1]["names"] == ["acceptance-42"]


def test_a_verb_without_rows_says_what_it_did(capsys):
    for changed, text in ((True, "released\n"), (False, "nothing to release\n")):
        end("release web", {"changed": changed, "nodes": []})
        assert capsys.readouterr().out == text


def test_the_screen_that_is_watched_goes_on_with_the_last_state_and_with_failures(capsys, monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    assert end("status --watch 5", {"lines": ["served by a"]}, interrupt)[0] == 130
    assert "\033" not in capsys.readouterr().out, "this is no terminal"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    old = OnlyLastState("ZooKeeper cannot be reached", {"lines": ["! the last state, 5 s old", "served by a"]})
    idle = PartlyFailed("no launcher works on this tree", {"lines": ["served by nobody"]})
    answers = [old, {"lines": ["served by b"]}, StoreError("refused"), idle, interrupt]
    assert end("status --watch 5", *answers)[0] == 130
    screens = [text.splitlines()[1:] for text in capsys.readouterr().out.split(verbs.CLEAR)[1:]]
    assert screens == [
        ["! the last state, 5 s old", "served by a"],
        ["served by b"],
        ["refused"],
        ["no launcher works on this tree", "served by nobody"],
    ]
    code, _modules = end("status --watch 5", idle)
    assert code == 1, "the first one ends it"
    assert end("status", old)[0] == 5, "ZooKeeper cannot be reached"


def test_the_environment_names_the_configuration(monkeypatch):
    monkeypatch.setenv("NODEPOOL_CONFIG", "/srv/nodepool.yaml")
    assert end("list", {"nodes": []})[1].calls[0][1]["config"] == "/srv/nodepool.yaml"
    assert end("list -c /tmp/other.yaml", {"nodes": []})[1].calls[0][1]["config"] == "/tmp/other.yaml"
    assert end("-c /tmp/other.yaml list", {"nodes": []})[1].calls[0][1]["config"] == "/tmp/other.yaml"


def test_wrong_arguments_are_status_2(capsys):
    for line in ("", "nothing", "lease web", "hold"):
        with pytest.raises(SystemExit) as ended:
            parse(line.split())
        assert ended.value.code == 2
    assert capsys.readouterr().out == ""


def test_a_decision_that_was_announced_says_when_it_applies_and_for_which_build(capsys):
    verdict = {"state": "revoked", "since": 0.0, "used": True}
    result = {
        "changed": True,
        "image": "debian-12",
        "build_id": "7f31",
        "verdict": verdict,
        "deleted": [],
        "in_use": [],
    }
    moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(0.0))
    line = "revoke debian-12 --reason broken --at 18:00"
    assert end(line, result)[0] == 0
    assert capsys.readouterr().out == f"revoked: build 7f31 of debian-12, from {moment} on\n"
    assert end(line, {**result, "changed": False, "verdict": {**verdict, "used": False}})[0] == 0
    assert capsys.readouterr().out == "it was revoked already: build 7f31 of debian-12\n"
