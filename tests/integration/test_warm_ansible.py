# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A command of Ansible that is forked does what it does as a process of its own."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.ansible_run import BIN, COLLECTIONS, ROOT, environment
from tests.support.warm_ansible import WarmAnsible
from tests.support.warm_tasks import interpreter

TASKS: list[dict[str, Any]] = [
    {"name": "Ours", "stackci.nodepool.nodepool_config_check": {"path": "none.yaml"}, "ignore_errors": True},
    {"name": "Ansible's", "ansible.builtin.ping": {}},
    {"name": "Its environment", "ansible.builtin.command": {"cmd": "printenv MINE"}, "changed_when": False},
    {"name": "Twice", "ansible.builtin.include_tasks": "part.yml", "loop": ["one", "two"]},
    {"name": "Kept", "ansible.builtin.debug": {"msg": "{{ kept }} {{ answer.results | map(attribute='rc') }}"}},
    {"name": "Wrong", "ansible.builtin.debug": {"msg": "{{ nowhere }}"}, "ignore_errors": True},
    {"name": "Dark", "ansible.builtin.command": {"cmd": "echo mine"}, "no_log": True, "changed_when": False},
    {"name": "Not this", "ansible.builtin.debug": {"msg": "no"}, "when": "kept != 'two one'"},
    {
        "name": "Its own environment",
        "ansible.builtin.shell": {"cmd": "echo $MINE; exit 3"},
        "environment": {"MINE": "of the 'task' $HOME"},
        "ignore_errors": True,
    },
    {
        "name": "Later",
        "stackci.nodepool.nodepool_config_check": {"path": "none.yaml"},
        "async": 30,
        "poll": 1,
        "ignore_errors": True,
    },
]

PART: list[dict[str, Any]] = [
    {
        "vars": {"seen": "{{ item }}", "before": "{{ kept | default('') }}"},
        "block": [
            {"name": "Says {{ seen }}", "ansible.builtin.debug": {"msg": "{{ seen }} after {{ before }}"}},
            {
                "name": "Each",
                "ansible.builtin.command": {"cmd": "echo {{ seen }} {{ each }}"},
                "loop": [1, 2],
                "loop_control": {"loop_var": "each", "label": "{{ seen }}-{{ each }}"},
                "register": "answer",
                "changed_when": "each == 2",
            },
            {"name": "Keeps", "ansible.builtin.set_fact": {"kept": "{{ seen }} {{ before }}"}},
        ],
    },
]
"""Tasks that are included twice: what the first time leaves in them would be seen the second time."""


@pytest.fixture(scope="module")
def warm() -> Iterator[WarmAnsible]:
    made = WarmAnsible(environment(ROOT), COLLECTIONS)
    yield made
    made.close()


def play(folder: Path, tasks: list[dict[str, Any]]) -> list[str]:
    """The command that runs them."""
    document = {"name": "One", "hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}
    (folder / "play.yml").write_text(json.dumps([document]))
    (folder / "part.yml").write_text(json.dumps(PART))
    return ["ansible-playbook", "play.yml", "-e", "given=word"]


@pytest.mark.parametrize(
    "more", [{}, {"ANSIBLE_STDOUT_CALLBACK": "minimal", "ANSIBLE_PIPELINING": "false"}], ids=["default", "minimal"]
)
def test_it_says_and_returns_the_same(warm: WarmAnsible, tmp_path: Path, more: dict[str, str]) -> None:
    words = play(tmp_path, [*TASKS, {"name": "End", "ansible.builtin.fail": {"msg": "{{ given }}"}}])
    variables = environment(tmp_path, MINE="of the caller", ANSIBLE_ASYNC_DIR=str(tmp_path / "jobs"), **more)
    real = subprocess.run(
        [str(BIN / words[0]), *words[1:]],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    forked = warm.run(words, tmp_path, variables, 90)
    assert (forked.returncode, told(forked)) == (real.returncode, told(real))
    assert real.returncode == 2
    assert '"msg": "word"' in real.stdout
    assert "of the 'task' $HOME" in real.stdout


def told(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What it said, without what differs from one run to the next."""
    changing = ("ansible_job_id", "started", "results_file", '"start"', '"end"', '"delta"', "jid", "ASYNC")
    lines = [line for line in (done.stdout + done.stderr).splitlines() if not any(word in line for word in changing)]
    return [line.split(" => ")[0] if "finished" in line else line for line in lines]


def test_what_is_read_only_once_is_not_forked(warm: WarmAnsible, tmp_path: Path) -> None:
    assert warm.knows("ansible-playbook", environment(tmp_path, MINE="1"))
    assert not warm.knows("ansible-playbook", environment(tmp_path, ANSIBLE_FILTER_PLUGINS=str(tmp_path)))
    assert not warm.knows("ansible-playbook", environment(tmp_path, ANSIBLE_CONFIG=str(tmp_path / "ansible.cfg")))
    assert not warm.knows("ansible-galaxy", environment(tmp_path))


def test_a_shell_runs_it_by_its_name(warm: WarmAnsible, tmp_path: Path) -> None:
    words = play(tmp_path, [{"name": "Ours", "ansible.builtin.debug": {"msg": "{{ lookup('env', 'PLAYBOOK') }}"}}])

    def shell(path: Path, **more: str) -> str:
        variables = environment(tmp_path, PLAYBOOK="mine", **more)
        variables["PATH"] = f"{path}:{variables['PATH']}"
        line = ["bash", "-c", shlex.join(words)]
        return subprocess.run(
            line, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=90, check=True
        ).stdout

    assert shell(warm.commands) == shell(BIN)
    assert '"msg": "mine"' in shell(warm.commands, ANSIBLE_FILTER_PLUGINS=str(tmp_path)), "by the real one"


def test_a_signal_ends_what_a_task_has_started(warm: WarmAnsible, tmp_path: Path) -> None:
    words = play(tmp_path, [{"name": "Wait", "ansible.builtin.shell": {"cmd": "echo $$ > pid; exec sleep 60"}}])
    variables = environment(tmp_path, ANSIBLE_PYTHON_INTERPRETER=str(warm.python))
    with subprocess.Popen([warm.commands / words[0], *words[1:]], cwd=tmp_path, env=variables) as started:
        deadline = time.monotonic() + 60
        while not (tmp_path / "pid").exists() or not (text := (tmp_path / "pid").read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        started.send_signal(signal.SIGTERM)
        assert started.wait(60) == -signal.SIGTERM
    while Path(f"/proc/{text.strip()}").exists():
        assert time.monotonic() < deadline + 60
        time.sleep(0.05)


def test_only_the_interpreter_of_modules_is_asked_for_without_a_shell(warm: WarmAnsible, tmp_path: Path) -> None:
    python = str(warm.python)

    def read(inner: str) -> object:
        return interpreter(shlex.join(["/bin/sh", "-c", inner]))

    socket = os.path.join(os.path.dirname(python), "socket")
    assert read(f"{python} && sleep 0") == (socket, [], {})
    assert read(f"A='b c' D='$e' {python} /x/AnsiballZ_y.py && sleep 0") == (
        socket,
        ["/x/AnsiballZ_y.py"],
        {"A": "b c", "D": "$e"},
    )
    others = ["true && sleep 0", f"{python}", f"{python} -m x && sleep 0", f"{python} a b && sleep 0"]
    assert [read(inner) for inner in [*others, f"{tmp_path}/python3 && sleep 0", f"cd / && {python} && sleep 0"]] == [
        None
    ] * 6


def test_one_that_takes_too_long_is_killed(warm: WarmAnsible, tmp_path: Path) -> None:
    words = play(tmp_path, [{"name": "Wait", "ansible.builtin.pause": {"seconds": 60}}])
    with pytest.raises(subprocess.TimeoutExpired):
        warm.run(words, tmp_path, environment(tmp_path), 2)


def succeed(warm: WarmAnsible, folder: Path, task: dict[str, Any]) -> None:
    """Run one task, by the real interpreter."""
    task = {**task, "vars": {"ansible_python_interpreter": sys.executable}}
    done = warm.run(play(folder, [task]), folder, environment(folder), 90)
    assert done.returncode == 0, done.stdout + done.stderr


def test_modules_are_packed_once_and_anew_where_a_test_has_its_own(warm: WarmAnsible, tmp_path: Path) -> None:
    ping = {"name": "Ansible's", "ansible.builtin.ping": {"data": "{{ given }}"}}
    shared = Path(warm.addresses[1]).with_name("shared")
    succeed(warm, tmp_path, ping)
    (file,) = shared.glob("*/packed/ansible.modules.ping-*none")
    made = file.stat()
    templates = set(shared.glob("*/templates/*"))
    succeed(warm, tmp_path, ping)
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (made.st_ino, made.st_mtime_ns)
    assert set(shared.glob("*/templates/*")) == templates != set()

    (tmp_path / "library").mkdir()
    for text in ("first", "second"):
        lines = ["from ansible.module_utils.basic import AnsibleModule", f"AnsibleModule({{}}).exit_json(msg='{text}')"]
        (tmp_path / "library" / "mine.py").write_text("\n".join(lines))
        succeed(
            warm, tmp_path, {"name": "Mine", "mine": {}, "register": "said", "failed_when": f"said.msg != '{text}'"}
        )
    assert list(shared.glob("*/packed/*mine*")) == []
