# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ends a playbook on this host says nothing about the node; what it writes is bounded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients import playbook_run
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.playbook_run import (
    LONGEST_LOG,
    PlaybookEnd,
    PlaybookRun,
)

SECRETS = ("pa55-of-the-cloud",)


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> PlaybookEnd:
    """Run a playbook with a program that does what *script* says."""
    program = folder / playbook_run.PROGRAM
    program.write_text(f"#!/bin/sh\nmkdir -p artifacts/play\n{script}\n", encoding="utf-8")
    program.chmod(0o700)
    monkeypatch.setattr(playbook_run, "_programs", lambda: f"{folder}:/usr/bin:/bin")
    (folder / "smoke.yml").touch()
    log = str(folder / "play.log")
    inventory: dict[str, Any] = {"all": {"hosts": {"np1": {}}}}
    playbook = str(folder / "smoke.yml")
    return PlaybookRun(playbook, "true", lambda where: inventory, (), {}, log, 60.0, SECRETS).run()


def event(kind: str, task: str, host: str = "np1", **more: Any) -> str:
    """The command that leaves an event of a task."""
    document = {"event": kind, "event_data": {"task": task, "host": host, **more}}
    folder = "artifacts/play/job_events"
    return f"mkdir -p {folder}; echo '{json.dumps(document)}' > {folder}/$((n += 1))-x.json"


WORKS = event("runner_on_ok", "DNS")


def stats(dark: Mapping[str, int] | None = None, **failures: int) -> str:
    """The command that leaves the event of the end: how many tasks of which host had failed, or could not reach it."""
    return event("playbook_on_stats", "", failures=failures, dark=dark or {})


@pytest.mark.parametrize("signal", [9, 15])
def test_a_runner_that_is_killed_is_not_the_fault_of_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, signal: int
) -> None:
    end = run(tmp_path, monkeypatch, f"kill -{signal} $$")
    assert end.ours and not end.passed and f"killed on this host (signal {signal})" in end.reason


def test_a_playbook_that_is_killed_has_not_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ansible-runner exits with 0 when ansible-playbook was killed: it has no exit status to pass on."""
    end = run(tmp_path, monkeypatch, f"{WORKS}; echo None > artifacts/play/rc")
    assert end.ours and not end.passed and end.reason.startswith("ansible-playbook was killed on this host")


@pytest.mark.parametrize("kind", ["runner_on_failed", "runner_on_unreachable"])
def test_a_task_that_fails_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    end = run(tmp_path, monkeypatch, f"{event(kind, 'DNS', res={'msg': 'no answer'})}; exit 2")
    assert end == PlaybookEnd(False, "task 'DNS': no answer")


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (
            {
                "msg": "non-zero return code",
                "rc": 2,
                "stderr": "looking\\ncannot resolve opendev.org\\n",
                "stdout": "x",
            },
            "non-zero return code (2): cannot resolve opendev.org",
        ),
        (
            {"msg": "non-zero return code", "rc": 3, "stderr": " \\n", "stdout": "degraded"},
            "non-zero return code (3): degraded",
        ),
        ({"msg": "non-zero return code", "rc": 1, "stderr": "", "stdout": ""}, "non-zero return code (1)"),
        ({"msg": "", "rc": 0, "stdout": "bad", "failed_when_result": True}, "failed_when holds: bad"),
        (
            {
                "msg": "MODULE FAILURE: See stdout/stderr",
                "rc": 127,
                "module_stderr": "",
                "module_stdout": "python3: not found",
            },
            "MODULE FAILURE: See stdout/stderr (127): python3: not found",
        ),
        (
            {
                "msg": "One or more items failed",
                "results": [
                    {"item": "localhost", "rc": 0, "stdout": "::1"},
                    {"item": "nowhere", "failed": True, "msg": "non-zero return code", "rc": 2, "stderr": "none such"},
                ],
            },
            "item nowhere: non-zero return code (2): none such",
        ),
        # An item is named by the label of loop_control.
        (
            {"results": [{"item": {"pin": "0815"}, "_ansible_item_label": "anna", "failed": True, "msg": "no login"}]},
            "item anna: no login",
        ),
        (
            {"results": [{"ansible_loop_var": "user", "user": "bert", "failed": True, "msg": "no login"}]},
            "item bert: no login",
        ),
        ({"censored": "hidden by no_log"}, "it failed, and no_log hides why"),
        ({"msg": "Assertion failed", "assertion": "1 == 2"}, "Assertion failed: 1 == 2"),
        ({"msg": "no room: 5 MB", "stderr": "no room: 5 MB"}, "no room: 5 MB"),
        ({"msg": ["odd", 1], "rc": "x", "results": [None], "stderr": 5}, "['odd', 1]"),
    ],
)
def test_the_reason_has_what_the_task_wrote_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, result: dict[str, Any], told: str
) -> None:
    end = run(tmp_path, monkeypatch, f"{event('runner_on_failed', 'DNS', res=result)}; exit 2")
    assert end == PlaybookEnd(False, f"task 'DNS': {told}")


def test_a_playbook_finds_the_collections_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is imported, and Ansible looks for them beside the first playbook alone."""
    (tmp_path / "collections").mkdir()
    (tmp_path / "collections" / "theirs").touch()
    assert run(tmp_path, monkeypatch, f"test -e project/collections/theirs || exit 1; {WORKS}").passed


def test_a_playbook_that_ansible_cannot_run_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong key, a collection or a password that is not there: no node can help it."""
    first = event("runner_on_failed", playbook_run.COMMAND_TASK, ignore_errors=True)
    end = run(tmp_path, monkeypatch, f"{first}; echo 'ERROR! no such module' > artifacts/play/stdout; exit 2")
    assert end == PlaybookEnd(False, "ERROR! no such module", ours=True)


FAILS = event("runner_on_failed", "DNS", res={"msg": "no answer"})


@pytest.mark.parametrize(
    ("script", "reason", "ours"),
    [
        # An always block that loops over the logs.
        (f"{FAILS}; for item in $(seq 250); do {event('runner_item_on_ok', 'logs')}; done; {stats(np1=1)}", "", False),
        (f"{FAILS}; head -c 21000000 /dev/zero >> artifacts/play/job_events/1-x.json; {stats(np1=1)}", None, False),
        (
            f"{FAILS}; {event('runner_on_unreachable', 'mirror', res={'msg': 'gone'})}; {stats({'np1': 1})}",
            "gone",
            False,
        ),
        # A rescue has put it right, and then Ansible could not go on.
        (f"{FAILS}; {event('error', 'next play')}; echo '[ERROR]: no such role' > artifacts/play/stdout", "role", True),
        (f"{FAILS}; {stats()}; echo '[ERROR]: no such role' > artifacts/play/stdout", "no such role", True),
    ],
)
def test_the_end_of_the_playbook_says_whether_the_node_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str | None, ours: bool
) -> None:
    end = run(tmp_path, monkeypatch, f"{script}; exit 2")
    assert (end.passed, end.ours) == (False, ours)
    assert ("its result is too long to be shown" if reason is None else reason or "task 'DNS': no answer") in end.reason


@pytest.mark.parametrize(
    ("task", "host", "told"),
    [
        ("Read the secret", "np1", "task 'Read the secret': no answer"),
        ("Ask for a token", "np1", "task 'Ask for a token': no answer"),
        ("login, password=hunter22", "np1", "task 'login, password=***': no answer"),
        ("The mirror answers", "localhost", "task 'The mirror answers' on localhost: no answer"),
    ],
)
def test_the_name_of_a_task_hides_nothing_of_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str, host: str, told: str
) -> None:
    failed = event("runner_on_failed", task, host, res={"msg": "no answer"})
    assert run(tmp_path, monkeypatch, f"{failed}; exit 2") == PlaybookEnd(False, told)


@pytest.mark.parametrize(
    "script",
    [
        "true",
        event("runner_on_ok", playbook_run.COMMAND_TASK),
        event("runner_on_ok", "DNS", "localhost"),
        event("runner_on_skipped", "DNS"),
    ],
)
def test_a_playbook_that_does_nothing_on_the_node_has_not_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    end = run(tmp_path, monkeypatch, script)
    assert (end.passed, end.ours) == (False, True) and "has passed on the node: write hosts: all" in end.reason


def test_a_playbook_that_cannot_be_begun_is_not_the_fault_of_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_more: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryDirectory", full)
    end = run(tmp_path, monkeypatch, WORKS)
    assert end.ours and "No space left on device" in end.reason
    gone = PlaybookRun("/nowhere.yml", "true", lambda where: {}, (), {}, "", 60.0).run()
    assert gone.ours and "/nowhere.yml is not a file" in gone.reason


def test_a_playbook_that_does_not_end_tells_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playbook_run, "_wait", lambda process, timeout, wanted: (process.wait(), "too late")[1])
    begun = event("playbook_on_task_start", "DNS")
    end = run(tmp_path, monkeypatch, f"{begun}; echo 'TASK [DNS]' > artifacts/play/stdout")
    assert end == PlaybookEnd(False, "too late; it wrote last: TASK [DNS]")
    # The command before it hangs: that is the node.
    end = run(tmp_path, monkeypatch, event("playbook_on_task_start", playbook_run.COMMAND_TASK))
    assert end == PlaybookEnd(False, "too late")


def test_a_playbook_that_asks_for_something_is_not_the_fault_of_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playbook_run, "_wait", lambda process, timeout, wanted: (process.wait(), "too late")[1])
    end = run(tmp_path, monkeypatch, event("runner_on_ok", playbook_run.COMMAND_TASK))
    assert end.ours and "it may ask for something (vars_prompt), and nobody answers" in end.reason


def test_of_a_long_output_the_beginning_and_the_end_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = 3 * LONGEST_LOG
    script = f"{WORKS}; (echo first; head -c {size} /dev/zero; echo last) > artifacts/play/stdout"
    assert run(tmp_path, monkeypatch, script).passed
    log = (tmp_path / "play.log").read_bytes()
    assert log.startswith(b"first\n") and log.endswith(b"last\n") and b"bytes are left out here" in log
    assert len(log) < LONGEST_LOG + 100


def test_what_is_secret_is_in_neither_log_nor_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = f"login {SECRETS[0]} refused, token: abcdef0123"
    failed = event("runner_on_failed", "login", res={"msg": f"{said} {'x' * 9000}"})
    end = run(tmp_path, monkeypatch, f"{failed}; echo '{said}' > artifacts/play/stdout; exit 2")
    log = (tmp_path / "play.log").read_text("utf-8")
    assert log == "login *** refused, token: ***\n"
    assert end.reason.startswith("task 'login': login *** refused, token: ***") and "abcdef" not in end.reason


def test_a_secret_at_the_place_where_a_long_log_is_cut_is_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = f"a login with {SECRETS[0]} as the password"
    script = f"{WORKS}; yes '{line}' | head -c {3 * LONGEST_LOG} > artifacts/play/stdout"
    assert run(tmp_path, monkeypatch, script).passed
    kept = (tmp_path / "play.log").read_text("utf-8").splitlines()
    whole = [one for one in kept[:-1] if one and "bytes are left out" not in one]
    assert set(whole) == {"a login with *** as the password"} and len(whole) > 1000


def test_a_log_that_cannot_be_written_is_told_and_changes_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "play.log").symlink_to("/dev/full")
    end = run(tmp_path, monkeypatch, f"{WORKS}; echo said > artifacts/play/stdout")
    assert end.passed and end.unkept == f"{tmp_path}/play.log: No space left on device"
