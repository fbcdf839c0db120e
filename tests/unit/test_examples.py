# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples of the documentation name modules, options, playbooks, variables and targets that exist."""

from __future__ import annotations

import functools
import importlib
import itertools
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from tests.support.examples import PREFIX, ROOT, commands, of_pages, of_plugins

MODULES = "ansible_collections.stackci.nodepool.plugins.modules"
CONDITIONS = ("mutually_exclusive", "required_together", "required_one_of", "required_if", "required_by")
EXAMPLES = [*of_plugins(), *of_pages()]
COMMANDS = [(where, line) for where, line in commands() if not line.startswith("#")]
# What ansible adds to each inventory plugin by the fragments of its documentation.
FRAGMENTS = {"plugin", "strict", "compose", "groups", "keyed_groups", "use_extra_vars", "leading_separator"}
CACHE = {"cache", "cache_plugin", "cache_timeout", "cache_connection", "cache_prefix"}


@functools.cache
def validator(module: str) -> ArgumentSpecValidator:
    """What AnsibleModule does with the options of a module."""
    face = importlib.import_module(f"{MODULES}.{module}")
    given: dict[str, Any] = {}

    def keep(_work, spec, **more):
        given.update(more, spec=spec)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(face, "run_module", keep)
        face.main()
    return ArgumentSpecValidator(given["spec"], **{name: given.get(name) for name in CONDITIONS})


def wrong(module: str, options: Mapping[str, object]) -> list[str]:
    """What the module says of these options."""
    return list(validator(module).validate(dict(options)).error_messages)


def test_the_modules_take_the_options_of_the_examples():
    problems, tried = [], set()
    for example in EXAMPLES:
        for task in example.tasks:
            for key in task.keys() & {f"{PREFIX}{path.stem}" for path in (ROOT / "plugins/modules").glob("*.py")}:
                module = key.removeprefix(PREFIX)
                tried.add(module)
                defaults = (task.get("module_defaults") or {}).get(key, {})
                problems += [
                    f"{example.where}: {task['name']}: {said}" for said in wrong(module, defaults | (task[key] or {}))
                ]
    assert problems == []
    assert tried == {path.stem for path in (ROOT / "plugins" / "modules").glob("*.py")}


@pytest.mark.parametrize(
    "module", sorted(path.stem for path in (ROOT / "plugins" / "modules").glob("*.py") if path.stem != "__init__")
)
def test_a_path_of_a_module_has_the_name_of_the_variable_of_playbooks_as_well(module):
    given = validator(module).argument_spec
    shared = {"config", "secure_config", "settings", "clouds_config"} & set(given)
    assert shared
    assert {name: given[name].get("aliases") for name in shared} == {name: [f"nodepool_{name}"] for name in shared}


def test_what_begins_with_our_name_in_a_task_is_a_module_or_a_role():
    names = {path.stem for path in (ROOT / "plugins" / "modules").glob("*.py")}
    roles = {path.name for path in (ROOT / "roles").iterdir()}
    strange = []
    for example in EXAMPLES:
        for task in example.tasks:
            used = {key.removeprefix(PREFIX) for key in task if key.startswith(PREFIX)}
            included = {
                str((task.get(f"ansible.builtin.{kind}_role") or {}).get("name")) for kind in ("include", "import")
            }
            ours = {name.removeprefix(PREFIX) for name in included if name.startswith(PREFIX)}
            strange += [f"{example.where}: {name}" for name in (used - names) | (ours - roles)]
    assert strange == []


def arguments_of(role: str) -> set[str]:
    """The variables that a role documents."""
    path = ROOT / "roles" / role / "meta" / "argument_specs.yml"
    return set(yaml.safe_load(path.read_text("utf-8"))["argument_specs"]["main"]["options"])


def test_the_roles_know_the_variables_of_the_examples():
    strange, tried = [], set()
    for example in EXAMPLES:
        roles = [role for play in example.plays for role in play.get("roles", [])]
        for role in roles:
            name = role["role"].removeprefix(PREFIX)
            tried.add(name)
            strange += [f"{example.where}: {key}" for key in role.get("vars", {}).keys() - arguments_of(name)]
        if isinstance(example.content, dict):
            own = next(
                (name for name in ("awx", "builder", "launcher", "webapp") if _begins(example.content, name)), None
            )
            if own:
                strange += [f"{example.where}: {key}" for key in example.content.keys() - arguments_of(own)]
    assert strange == []
    assert tried >= {"awx", "builder", "launcher", "webapp", "zookeeper"}


def _begins(content: dict[str, object], role: str) -> bool:
    return all(str(key).startswith(f"{role}_") for key in content)


def test_the_inventory_plugin_knows_the_options_of_the_examples():
    source = (ROOT / "plugins" / "inventory" / "nodepool.py").read_text("utf-8")
    documented = re.search(r'^DOCUMENTATION = r"""\n(.*?)"""', source, re.S | re.M)
    assert documented is not None
    known = set(yaml.safe_load(documented[1])["options"]) | FRAGMENTS | CACHE
    sources = [example for example in EXAMPLES if isinstance(example.content, dict) and "plugin" in example.content]
    assert len(sources) >= 7
    assert {(one.where, key) for one in sources for key in one.content if key not in known} == set()


def words_of(line: str) -> list[str]:
    """The words of a command line, without comment and without what the reader fills in."""
    return [word for word in shlex.split(line, comments=True) if word != "…"]


def extra_variables(words: list[str]) -> set[str]:
    """The variables that -e sets."""
    found = set()
    for option, value in itertools.pairwise(words):
        if option in ("-e", "--extra-vars") and not value.startswith("@"):
            found |= set(yaml.safe_load(value)) if value.startswith("{") else {value.partition("=")[0]}
    return found


def texts_below(playbook: Path) -> str:
    """A playbook, the files of tasks beside it, and the variables of the roles that it applies."""
    text = playbook.read_text("utf-8")
    included = [playbook.parent / "tasks" / name for name in re.findall(r"tasks/(\w+\.yml)", text)]
    roles = [
        ROOT / "roles" / name / "meta" / "argument_specs.yml"
        for name in re.findall(rf"(?:name|role): {PREFIX}(\w+)$", text, re.M)
    ]
    return "\n".join([text, *(path.read_text("utf-8") for path in (*included, *roles) if path.exists())])


def test_the_playbooks_of_the_commands_exist_and_use_the_variables():
    strange, tried = [], 0
    for where, line in COMMANDS:
        words = words_of(line)
        if words[0] != "ansible-playbook":
            continue
        for name in (word.removeprefix(PREFIX) for word in words if word.startswith(PREFIX)):
            tried += 1
            playbook = ROOT / "playbooks" / f"{name}.yml"
            if not playbook.exists():
                strange.append(f"{where}: there is no playbook {name}")
                continue
            text = texts_below(playbook)
            strange += [
                f"{where}: {name} has no {key}" for key in extra_variables(words) if not re.search(rf"\b{key}\b", text)
            ]
    assert strange == []
    assert tried > 20


def test_the_modules_take_the_options_of_the_commands():
    problems, tried = [], 0
    for where, line in COMMANDS:
        words = words_of(line)
        if words[0] != "ansible" or not any(word.startswith(PREFIX) for word in words):
            continue
        tried += 1
        module = words[words.index("-m") + 1].removeprefix(PREFIX)
        given = shlex.split(words[words.index("-a") + 1]) if "-a" in words else []
        options = dict(item.split("=", 1) for item in given)
        problems += [f"{where}: {line}: {said}" for said in wrong(module, options)]
    assert problems == []
    assert tried > 10


def test_the_targets_of_make_exist():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    wanted = {
        (where, word)
        for where, line in COMMANDS
        if words_of(line)[0] == "make"
        for word in words_of(line)[1:]
        if "=" not in word
    }
    assert wanted
    assert {(where, word) for where, word in wanted if not re.search(rf"^{word}:", makefile, re.M)} == set()
