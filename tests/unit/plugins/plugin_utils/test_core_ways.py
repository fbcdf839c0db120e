# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the versions of ansible-core start a module. The matrix tries all of them; here it is one."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.plugin_utils import core_ways
from ansible_collections.stackci.nodepool.plugins.plugin_utils.core_ways import Built as BuiltWay
from ansible_collections.stackci.nodepool.plugins.plugin_utils.core_ways import FourValues, known_core, way


def test_what_this_ansible_core_offers_is_known() -> None:
    assert core_ways.WAY is not None, "ansible-core has changed: the modules are packed until core_ways learns how"


@dataclass(kw_only=True, frozen=True)
class Built:
    """A program to execute as ansible-core 2.19 and 2.20 have it."""

    b_module_data: bytes
    module_style: str
    shebang: str | None
    serialization_profile: str


@dataclass(kw_only=True, frozen=True)
class BuiltLater(Built):
    """As 2.21 has it."""

    has_async: bool = False
    command_lookup: Any = None


@dataclass(kw_only=True, frozen=True)
class BuiltOtherwise(Built):
    """With something that nobody knows how to fill."""

    essential: str


@dataclass(kw_only=True, frozen=True)
class BuiltWithLess:
    """Without what is filled today."""

    b_module_data: bytes


def run(
    *, json_params: bytes, profile: str, module_fqn: str, modlib_path: str, extensions: Any, more: Any = None
) -> None:
    """ansible-core's ``run_module``."""


def run_otherwise(
    *, json_params: bytes, profile: str, module_fqn: str, modlib_path: str, extensions: Any, more: Any
) -> None:
    """One that needs more."""


@pytest.mark.parametrize(
    ("built", "runner", "expected"),
    [
        (Built, run, True), (BuiltLater, run, True), (BuiltOtherwise, run, False), (BuiltWithLess, run, False),
        (Built, run_otherwise, False), (Built, lambda json_params: None, False),
    ],
)  # fmt: skip
def test_an_ansible_core_is_known_that_needs_nothing_more(built: Any, runner: Any, expected: bool) -> None:
    assert known_core(built, runner) is expected


def run_masking(
    *, json_params: bytes, profile: str, module_fqn: str, modlib_path: str, extensions: Any, secrets: frozenset[str]
) -> None:
    """That of ansible-core 2.22, which masks secrets in what the module says."""


class Masker:
    """ansible-core's knowledge of secrets."""

    def secrets_in_json(self, text: str) -> frozenset[str]:
        return frozenset(word for word in ("it's secret",) if word in text)


def test_the_module_is_told_the_secrets_among_its_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not known_core(Built, run_masking)
    monkeypatch.setattr(core_ways, "_secret_masker", Masker())
    monkeypatch.setattr(core_ways, "run_module", run_masking)
    assert known_core(Built, run_masking)
    program = BuiltWay().program(
        interpreter="/usr/bin/python3", root="/r", name="a.b", arguments={"password": "it's secret"}
    )
    assert program.rstrip().endswith("""secrets=frozenset(["it's secret"]))""")


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.16.0", FourValues),
        ("2.17.14", FourValues),
        ("2.18.0rc1", FourValues),
        ("2.19.0", BuiltWay),
        ("2.30.1", BuiltWay),
    ],
)
def test_each_version_has_its_way(monkeypatch: pytest.MonkeyPatch, version: str, expected: type) -> None:
    monkeypatch.setattr(core_ways, "_BuiltModule", Built)
    monkeypatch.setattr(core_ways, "run_module", run)
    monkeypatch.setattr(core_ways, "AnsibleJSONEncoder", json.JSONEncoder)
    assert way(version).__class__ is expected


@pytest.mark.parametrize("version", ["2.16.0", "2.19.0"])
def test_a_version_without_the_private_names_has_none(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(core_ways, "_BuiltModule", None)
    monkeypatch.setattr(core_ways, "AnsibleJSONEncoder", None)
    assert way(version) is None


OLD_BASIC = """
_ANSIBLE_ARGS = None
"""
OLD_MODULE = """
import json, sys
from ansible.module_utils import basic
if __name__ == "__main__":
    print(json.dumps([sys.path[0], _module_fqn, _modlib_path, json.loads(basic._ANSIBLE_ARGS)]))
"""


class OldEncoder(json.JSONEncoder):
    """ansible-core's, with its own option."""

    def __init__(self, *, vault_to_text: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.vault_to_text = vault_to_text

    def default(self, o: Any) -> Any:
        return f"plain {o.text}" if self.vault_to_text else super().default(o)


def test_before_2_19_the_arguments_are_in_basic(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for path, text in {"ansible/module_utils/basic.py": OLD_BASIC, "a/b/show.py": OLD_MODULE}.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.setattr(core_ways, "AnsibleJSONEncoder", OldEncoder)
    arguments = {"word": "ü ' \" {root}", "list": [1, None, True], "secret": SimpleNamespace(text="vaulted")}
    root = str(tmp_path)
    program = FourValues().program(interpreter=sys.executable, root=root, name="a.b.show", arguments=arguments)
    # -I -S: without the ansible-core of this environment.
    words = [sys.executable, "-I", "-S", "-"]
    done = subprocess.run(words, input=program, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [root, "a.b.show", root, arguments | {"secret": "plain vaulted"}]
    assert FourValues().configured(b"x", "#!/y", "/z") == ("new", "#!/y", b"x", "/z")
