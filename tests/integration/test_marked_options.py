# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each module gets the plain value of what is encrypted, unsafe, or a template within templates, without a warning."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.test_conventions import MORE
from tests.support.ansible_run import ROOT, command
from tests.support.vaulted_values import Unsafe, Vault, password_file, write

MODULES = ROOT / "plugins" / "modules"
COLLECTED = ("dict", "list", "raw")


def documentation(path: Path) -> dict[str, Any]:
    """The documentation of a module."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "DOCUMENTATION":
            found: dict[str, Any] = yaml.safe_load(ast.literal_eval(node.value))
            return found
    raise AssertionError(path)


def collections() -> Iterator[tuple[str, str, list[str]]]:
    """Each module and option with several values, and three texts that it may have."""
    for path in sorted(MODULES.glob("*.py")):
        for name, option in (documentation(path).get("options") or {}).items():
            if option["type"] in COLLECTED:
                assert (option["type"], option["elements"]) == ("list", "str"), f"{path.stem}.{name}: try it here, too"
                choices = option.get("choices") or ["secret", "a{{ none }}b", "within"]
                yield path.stem, name, [choices[number % len(choices)] for number in range(3)]


OPTIONS = list(collections())


def marked(texts: list[str]) -> list[Any]:
    """The same texts as an inventory may have them."""
    return [Vault(texts[0]), Unsafe(texts[1]), {"deep": [f"{{{{ templates['{texts[2]}'] }}}}"]}]


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("packed", [False, True], ids=["in-place", "packed"])
def test_options_with_several_values_are_plain(tmp_path, packed):
    # A packed module takes seconds to start, and Ansible's own code hands over the values then.
    options = OPTIONS[:2] if packed else OPTIONS
    variables = {
        "templates": {texts[2]: f"{{{{ '{texts[2]}' }}}}" for _module, _option, texts in options},
        "given": {f"{module}_{option}": marked(texts) for module, option, texts in options},
        "nodepool_in_place": not packed,
    }
    write(tmp_path / "vars.yml", variables)
    # Modules wait for a file that does not exist.
    (tmp_path / "spoilt.yaml").write_text("no mapping", "utf-8")
    tasks: list[dict[str, Any]] = []
    for module in dict.fromkeys(module for module, _option, _texts in options):
        work = {**MORE.get(module, {}), "config": str(tmp_path / "spoilt.yaml")}
        for name in (option for of_module, option, _texts in options if of_module == module):
            first = f"given.{module}_{name}"
            work[name] = f"{{{{ [{first}[0], {first}[1], {first}[2].deep[0]] }}}}"
        tasks.append({"name": module, f"stackci.nodepool.{module}": work, "ignore_errors": True})
    play = {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "vars_files": ["vars.yml"],
        "tasks": tasks,
    }
    (tmp_path / "play.yml").write_text(json.dumps([play]), "utf-8")
    more: dict[str, str] = {
        **password_file(tmp_path),
        "ANSIBLE_DEPRECATION_WARNINGS": "1",
        "ANSIBLE_CALLBACK_PLUGINS": str(ROOT / "tests" / "support" / "callbacks"),
        "ANSIBLE_CALLBACKS_ENABLED": "keep_arguments",
        "KEEP_ARGUMENTS": str(tmp_path / "got"),
        # ansible-core 2.20 and later returns the arguments only when it is told to.
        "ANSIBLE_INJECT_INVOCATION": "1",
    }
    done = command("ansible-playbook", "play.yml", folder=tmp_path, timeout=500, **more)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "DEPRECAT" not in said and "[WARNING]" not in said, said
    got = dict(json.loads(line) for line in (tmp_path / "got").read_text("utf-8").splitlines())
    # ansible-core 2.22 and later shows nowhere what was encrypted, and gives it to the module.
    shown = {(module, name): [texts, ["$REDACTED$", *texts[1:]]] for module, name, texts in options}
    assert [key for key, texts in shown.items() if got[key[0]][key[1]] not in texts] == []
