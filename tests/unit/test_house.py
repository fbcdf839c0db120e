# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of the house that no linter knows."""

from __future__ import annotations

import ast
import configparser
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest
import yaml

from tools.quick import HELD, held_elsewhere
from tools.stage import listed

ROOT = Path(__file__).resolve().parents[2]
FILES = listed(ROOT)
PYTHON = [path for path in FILES if path.suffix == ".py"]
PLUGINS = [path for path in PYTHON if path.parts[0] == "plugins"]
UTILS = [path for path in PLUGINS if path.parts[1] == "module_utils" and path.name != "__init__.py"]
MODULES = [path for path in PLUGINS if path.parts[1] == "modules" and path.name != "__init__.py"]

# Put together here, or it would be taken for a statement about this file.
LICENCE_LINE = "-".join(("SPDX", "License", "Identifier")) + ":"

MOST_LINES = 500
MOST_LINES_OF_A_FUNCTION = 80
MOST_LINES_OF_CODE_IN_A_MODULE = 60

# The folders whose __init__.py ansible-test wants to be empty.
EMPTY_INIT = ("plugins/modules", "plugins/module_utils", "tests/unit")
NO_HEADER = {".json", ".pem", ".crt", ".key", ".png", ".svg"}
NO_HEADER_NAMES = {"COPYING", "LICENSES/GPL-3.0-or-later.txt", "REUSE.toml", "changelogs/changelog.yaml"}
NO_HEADER_NAMES |= {
    "changelogs/fragments/.keep",
    "tests/elements/tiny/element-provides",
}  # diskimage-builder takes each line of it for a name

# A person's or a machine's folders.
MACHINE_PATH = re.compile(r"(?<![\w.}/])/(?:root|home|work|workspace|Users)/[\w.-]+")
# Accounts that images have.
NEUTRAL_PATHS = ("/home/zuul", "/home/debian", "/home/ubuntu")
UNNAMED = re.compile(r"\b_\b")
REGISTRIES = re.compile(
    r"\b(?:[\w-]+\.)*(?:pypi\.(?:org|io)|pythonhosted\.org|galaxy\.ansible\.com|docker\.io|quay\.io)\b"
)


@cache
def text_of(path: Path) -> str:
    """The file's text; empty when it is not text."""
    try:
        return (ROOT / path).read_text("utf-8")
    except UnicodeDecodeError:
        return ""


def names(paths: list[Path]) -> list[str]:
    """For pytest's ids."""
    return [path.as_posix() for path in paths]


def documentation(path: Path, name: str = "DOCUMENTATION") -> dict[str, object]:
    """The parsed DOCUMENTATION of a plugin, or another text of a documentation fragment."""
    for node in ast.walk(ast.parse(text_of(path))):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name:
            return dict(yaml.safe_load(ast.literal_eval(node.value)))
    return {}


def needs_header(path: Path) -> bool:
    """False for what cannot hold a comment and for what has to be empty."""
    name = path.as_posix()
    if path.name == "__init__.py" and name.startswith(EMPTY_INIT):
        return False
    return path.suffix not in NO_HEADER and name not in NO_HEADER_NAMES and not name.startswith("CHANGELOG")


def test_packages_of_modules_are_empty():
    """ansible-test of ansible-core before 2.19 wants them so."""
    found = [path for path in FILES if path.name == "__init__.py" and path.as_posix().startswith(EMPTY_INIT)]
    assert names([path for path in found if text_of(path)]) == []


def test_there_is_something_to_look_at():
    assert Path("galaxy.yml") in FILES
    assert PLUGINS


def test_no_file_is_too_long():
    lines = {path.as_posix(): len(text_of(path).splitlines()) for path in PYTHON}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_no_function_is_too_long():
    lines = {
        f"{path}: {node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for path in PLUGINS
        for node in ast.walk(ast.parse(text_of(path)))
        if isinstance(node, ast.FunctionDef)
    }
    assert {name: count for name, count in lines.items() if count > MOST_LINES_OF_A_FUNCTION} == {}


def test_what_is_not_used_has_a_name():
    """Ansible's pylint forbids the name ``_``; it says so minutes later."""
    suspects = [path for path in PYTHON if UNNAMED.search(text_of(path))]
    found = [
        f"{path}:{node.lineno}"
        for path in suspects
        for node in ast.walk(ast.parse(text_of(path)))
        if (isinstance(node, ast.Name) and node.id == "_") or (isinstance(node, ast.arg) and node.arg == "_")
    ]
    assert found == []


def test_every_file_names_its_licence():
    lacking = [path for path in FILES if needs_header(path) and LICENCE_LINE not in text_of(path)[:1000]]
    assert lacking == []


@pytest.mark.parametrize("path", MODULES, ids=names(MODULES))
def test_a_module_is_a_face_only(path):
    tree = ast.parse(text_of(path))
    prose = {"DOCUMENTATION", "EXAMPLES", "RETURN"}
    code = [
        node
        for node in tree.body
        if not (isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in prose)
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]
    assert sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in code) <= MOST_LINES_OF_CODE_IN_A_MODULE


@pytest.mark.parametrize("path", MODULES, ids=names(MODULES))
def test_a_module_declares_what_it_can_do(path):
    documented = documentation(path)
    fragments = documented.get("extends_documentation_fragment")
    assert isinstance(fragments, list)
    assert "stackci.nodepool.attributes" in fragments
    attributes = documented.get("attributes")
    shared = [match[1] for name in fragments if (match := re.fullmatch(r"stackci\.nodepool\.attributes\.(\w+)", name))]
    for name in shared:
        assert attributes is None
        attributes = documentation(Path("plugins/doc_fragments/attributes.py"), name.upper())["attributes"]
    assert isinstance(attributes, dict)
    assert {
        name: bool(attributes.get(name, {}).get("support")) for name in ("check_mode", "diff_mode", "idempotent")
    } == {
        "check_mode": True,
        "diff_mode": True,
        "idempotent": True,
    }
    assert documented.get("seealso")


def test_documentation_fragments_are_what_ansible_accepts():
    folder = Path("plugins/doc_fragments")
    fragments = [path for path in PLUGINS if path.parent == folder and path.name != "__init__.py"]
    assert fragments
    # ansible.utils.plugin_docs.add_fragments stops at a fragment that has neither of the two.
    texts = [
        (path, target.id)
        for path in fragments
        for node in ast.walk(ast.parse(text_of(path)))
        if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Name)
    ]
    assert [text for text in texts if not {"options", "attributes"} & documentation(*text).keys()] == []
    assert names([path for path in fragments if path not in {path for path, _name in texts}]) == []


def test_the_action_group_is_complete():
    groups = yaml.safe_load(text_of(Path("meta/runtime.yml")))["action_groups"]
    # The other one is of other collections, for the role awx.
    assert groups["all"] == sorted(path.stem for path in MODULES)
    assert groups.keys() == {"all", "controller"}


def test_no_path_of_a_machine():
    found = [
        f"{path}: {hit}"
        for path in FILES
        if (text := text_of(path))
        for hit in [*MACHINE_PATH.findall(text), *(own for own in (f"{ROOT}/",) if own in text)]
        if not hit.startswith(NEUTRAL_PATHS)
    ]
    assert found == []


@cache
def editorconfig() -> configparser.ConfigParser:
    """.editorconfig, whose first lines stand in no section."""
    rules = configparser.ConfigParser()
    rules.read_string("[of all]\n" + text_of(Path(".editorconfig")))
    return rules


def form(path: Path) -> dict[str, str]:
    """What .editorconfig says of a file; later sections win."""
    sections = [editorconfig()[name] for name in editorconfig().sections() if fnmatch(path.name, name)]
    return {key: value for section in sections for key, value in section.items()}


def formless(path: Path, rules: dict[str, str]) -> Iterator[str]:
    """What of a file is not as its rules say. Python's lines are ruff's."""
    lines = text_of(path).split("\n")
    if rules["insert_final_newline"] == "true" and lines[-1]:
        yield "no newline at the end"
    if rules["trim_trailing_whitespace"] == "true" and any(line != line.rstrip() for line in lines):
        yield "white space at the end of a line"
    if rules["indent_style"] == "space" and any(line.startswith("\t") for line in lines):
        yield "a tab at the beginning of a line"


def test_files_have_the_form_that_editors_give_them():
    texts = [path for path in FILES if text_of(path)]
    assert [f"{path}: {problem}" for path in texts for problem in formless(path, form(path))] == []


def hosts_of_this_machine() -> set[str]:
    """The hosts from which this machine takes its packages, as far as they are not those that everybody uses."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    settings = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout
    apt = Path("/etc/apt")
    sources = [path for path in (apt / "sources.list", *apt.glob("sources.list.d/*")) if path.is_file()]
    settings += "".join(path.read_text("utf-8", errors="replace") for path in sources)
    hosts = {match[1] for match in re.finditer(r"https?://(?:[^/@\s']*@)?([\w.-]+)", settings)}
    return {host for host in hosts if host not in ("localhost", "127.0.0.1") and not host.endswith(".debian.org")}


def test_no_host_of_a_package_registry():
    own = hosts_of_this_machine()
    found = [
        f"{path}: {hit}"
        for path in FILES
        if (text := text_of(path))
        for hit in {*REGISTRIES.findall(text), *(host for host in own if host in text)}
    ]
    assert found == []


def test_what_the_pages_tell_to_type_exists():
    targets = set(re.findall(r"^([a-z][a-z-]*):", text_of(Path("Makefile")), re.MULTILINE))
    pages = [path for path in FILES if path.suffix in (".md", ".rst") and path.parts[0] not in ("changelogs",)]
    told = {(path.name, target) for path in pages for target in re.findall(r"`*\bmake ([a-z][a-z-]+)`", text_of(path))}
    told |= {
        (path.name, target)
        for path in pages
        for block in re.findall(r"```(?:shell|console|bash)\n(.*?)```", text_of(path), re.DOTALL)
        for target in re.findall(r"^\s*(?:\$ )?make ([a-z][a-z-]+)", block, re.MULTILINE)
    }
    assert ("README.md", "demo") in told
    assert ("README.md", "test") in told
    assert {(page, target) for page, target in told if target not in targets} == set()


def mirrored(path: Path) -> Path:
    """Where the unit tests of a file are."""
    return Path("tests/unit", path.parent, f"test_{path.name}")


@cache
def held() -> dict[Path, set[Path]]:
    """File → the tests that hold it, of those that have no unit tests of their own."""
    lines = HELD.read_text("utf-8").splitlines()
    return {Path(file): {Path(test) for test in tests} for file, tests in held_elsewhere(lines).items()}


def test_every_file_has_its_unit_tests_or_says_which_tests_hold_it():
    lacking = [path for path in UTILS if mirrored(path) not in FILES and not held().get(path)]
    assert lacking == [], f"write {mirrored(lacking[0])}, or a line in {HELD}"


def test_a_name_of_a_file_occurs_once():
    """Who reads ``images.py`` in a traceback or a review should know which one it is."""
    counts = Counter(path.name for path in UTILS)
    assert {name: count for name, count in counts.items() if count > 1} == {}


@pytest.mark.parametrize("folder", ["launcher", "builder"])
def test_a_cycle_has_no_loose_files(folder):
    """Its folders have an order (docs/designs/011); what lies beside them has none."""
    assert [path for path in UTILS if path.parent == Path("plugins/module_utils/cycles", folder)] == []


def test_what_is_held_elsewhere_has_no_unit_tests_and_is_held():
    assert [path for path in held() if path not in UTILS] == [], f"these are gone: take their lines out of {HELD}"
    assert [path for path in held() if mirrored(path) in FILES] == [], f"these have unit tests: no line in {HELD}"
    assert [test for tests in held().values() for test in tests if test not in FILES] == [], "these tests are gone"
    assert list(held()) == sorted(held())


@pytest.mark.parametrize("folder", ["launcher", "builder"])
def test_unit_tests_of_a_cycle_mirror_a_file(folder):
    """Those of the cycle as a whole simulate a site for minutes: they are in tests/simulation."""
    below = Path("tests/unit/plugins/module_utils/cycles", folder)
    tests = [path for path in PYTHON if path.is_relative_to(below) and path.name.startswith("test_")]
    assert [path for path in tests if not any(mirrored(file) == path for file in UTILS)] == []


def test_simulations_run_on_virtual_time():
    """What needs none of it is a unit test."""
    below, world = Path("tests/simulation"), re.compile(r"^from tests\.(support|chaos)\.(world|virtual)", re.MULTILINE)
    tests = [path for path in PYTHON if path.is_relative_to(below) and path.name.startswith("test_")]
    assert tests
    assert [path for path in tests if not world.search(text_of(path))] == []


def test_one_room_decides_which_letters_can_be_shown():
    """Filters of their own in other files had other ideas of it."""
    deciding = re.compile(r"\.isprintable\(|\\x1b|\\u202[a-e]|Cc.*Cf")
    found = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "plugins").rglob("*.py"))
        if path.name != "bounded_text.py" and deciding.search(path.read_text(encoding="utf-8"))
    ]
    assert found == []
