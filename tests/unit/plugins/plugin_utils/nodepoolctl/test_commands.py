# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verbs have no options of their own, and loading their table costs nothing."""

from __future__ import annotations

import shlex
import subprocess
import sys
from importlib import import_module

import pytest

from ansible_collections.stackci.nodepool.plugins.plugin_utils.nodepoolctl.calling import RUNTIME
from ansible_collections.stackci.nodepool.plugins.plugin_utils.nodepoolctl.commands import BY_NAME, COMMANDS
from ansible_collections.stackci.nodepool.plugins.plugin_utils.nodepoolctl.parser import CONNECTION, parse
from tests.support.ansible_run import COLLECTIONS

WORKING = [command for command in COMMANDS if command.work is not None]


def spec_of(work):
    return getattr(import_module(f"{RUNTIME}.{work.file}"), work.spec)


@pytest.mark.parametrize("command", WORKING, ids=lambda command: command.name)
def test_each_option_is_one_of_the_module(command):
    spec = spec_of(command.work)
    assert {option.name for option in command.options} | {*command.fixed} <= {*spec}
    assert callable(getattr(import_module(f"{RUNTIME}.{command.work.file}"), command.work.function))
    for name, value in command.fixed.items():
        assert value in spec[name].get("choices", [value])


def test_the_connection_has_the_modules_names():
    spec = spec_of(BY_NAME["lease"].work)
    assert {option.name for option in CONNECTION} <= {*spec}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_examples_are_accepted(command):
    for line in command.examples:
        words = shlex.split(line.split(" < ")[0])
        assert parse(words).verb in (command.name, *command.aliases)
    assert command.examples


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_each_verb_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as ended:
        parse([command.name, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert f"nodepoolctl {command.name}" in shown and "examples:" in shown


@pytest.mark.parametrize(
    ("line", "command", "taken"),
    [
        ("ssh web", [], {}),
        ("ssh web uname -a", ["uname", "-a"], {}),
        ("ssh -i KEY web uname -a", ["uname", "-a"], {"identity": "KEY"}),
        ("ssh web -i KEY uname -a", ["uname", "-a"], {"identity": "KEY"}),
        ("ssh web -n 2 -i KEY", [], {"identity": "KEY", "number": 2}),
        ("ssh -n 2 web -c pool.yaml ls -l", ["ls", "-l"], {"number": 2, "config": "pool.yaml"}),
        ("ssh web -- -x", ["-x"], {}),
        ("ssh -- web -- uname", ["uname"], {}),
        ("ssh web ls -i -- -n 2", ["ls", "-i", "--", "-n", "2"], {}),
    ],
)
def test_options_of_ssh_stand_before_or_after_the_node_and_end_at_the_command(line, command, taken, monkeypatch):
    monkeypatch.delenv("NODEPOOL_SSH_KEY", raising=False)
    given = vars(parse(shlex.split(line)))
    assert (given.pop("target"), given.pop("command")) == ("web", command)
    assert {name: value for name, value in given.items() if name in ("identity", "number", "config")} == taken


@pytest.mark.parametrize("line", ["ssh", "ssh web --bad", "ssh web -i", "ssh web -n two ls"])
def test_wrong_arguments_of_ssh_are_no_status_that_a_command_may_have(line, capsys):
    with pytest.raises(SystemExit) as ended:
        parse(shlex.split(line))
    assert ended.value.code == 255
    assert "usage: nodepoolctl ssh" in capsys.readouterr().err


def test_verbs_and_aliases_are_unique():
    assert len(BY_NAME) == sum(1 + len(command.aliases) for command in COMMANDS)


def test_help_and_completion_load_neither_ansible_nor_the_modules():
    package = "ansible_collections.stackci.nodepool.plugins.plugin_utils.nodepoolctl"
    program = (
        f"import sys; sys.path.insert(0, {str(COLLECTIONS)!r})\n"
        f"from {package} import __main__, parser, completion\n"
        "parser.make_parser().format_help(); completion.candidates(['l'])\n"
        "print([name for name in sys.modules if 'module_utils' in name or name.split('.')[0] in ('ansible', 'kazoo')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
