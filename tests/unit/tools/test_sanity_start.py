# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/sanity_start.py: files are compiled and executed once, and what is wrong with them is found each time."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.support.ansible_run import ROOT

PROGRAM = """
import sanity_start, importlib, json, pathlib, sys, warnings
from ansible.utils.collection_loader import _collection_finder
_collection_finder._AnsibleCollectionFinder(paths=[sys.argv[1]])._install()
plugins = pathlib.Path(sys.argv[1]) / "ansible_collections/some/site/plugins/module_utils"
remembered, real = _collection_finder.compile, compile
compiled = []
sanity_start.compile = lambda *given, **words: compiled.append(words.get("filename", "")) or real(*given, **words)

def attempt():
    for name in [name for name in sys.modules if name.startswith("ansible_collections.some")]:
        del sys.modules[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return importlib.import_module("ansible_collections.some.site.plugins.module_utils.one").VALUE
        except Exception as problem:
            return type(problem).__name__

said = []
for text in json.loads(sys.argv[2]):
    (plugins / "one.py").write_text(text)
    said.append(attempt())
print(json.dumps([said, sum(name.endswith("/one.py") for name in compiled)]))
"""


@pytest.fixture
def tried(tmp_path):
    """What becomes of imports of a file with one text after the other, and how often it was compiled."""
    (tmp_path / "ansible_collections/some/site/plugins/module_utils").mkdir(parents=True)

    def call(*texts):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path), json.dumps(texts)],
            env={**os.environ, "PYTHONPATH": str(ROOT / "tools")},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


def test_a_text_is_compiled_once_and_a_changed_one_again(tried):
    assert tried("VALUE = 1", "VALUE = 1", "VALUE = 2", "VALUE = 1") == [[1, 1, 2, 1], 2]


def test_dataclasses_work_each_time(tried):
    text = "import dataclasses\n\n@dataclasses.dataclass(frozen=True)\nclass One:\n    size: int = {}\n\n\n"
    one, two = (text.format(number) + "VALUE = [One().size, One(5).size, One(1) == One(1)]" for number in (1, 2))
    assert tried(one, two, one) == [[[1, 5, True], [2, 5, True], [1, 5, True]], 2]


def test_what_is_wrong_with_a_text_is_found_each_time(tried):
    warned = "VALUE = 1 is 1"
    assert tried("VALUE = (", "VALUE = (", warned, warned) == [["SyntaxError"] * 4, 4]


def test_what_lives_until_the_end_is_not_looked_through_then():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count())); import sanity_start",
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT / "tools")},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert int(done.stdout) > 1000


FILES_IMPORTED = """
import sanity_start, contextlib, importlib, io, json, pathlib, sys
from ansible.utils.collection_loader import _collection_finder
_collection_finder._AnsibleCollectionFinder(paths=[sys.argv[1]])._install()
OURS = "ansible_collections.some.site.plugins.module_utils."

class RestrictedModuleLoader:
    def __init__(self, name):
        self.name = name

    def find_spec(self, *given):
        return None

def attempt(name):
    sys.meta_path.insert(0, RestrictedModuleLoader(OURS + name))
    before, said = dict(sys.modules), io.TextIOWrapper(io.BytesIO())
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            value = importlib.import_module(OURS + name).VALUE
        except Exception as problem:
            value = type(problem).__name__
    said.flush()
    loaded = sorted(one.removeprefix(OURS) for one in sys.modules if one.startswith(OURS))
    lost = sorted(set(before) - set(sys.modules))
    for one in set(sys.modules) - set(before):
        if one.startswith("ansible_collections"):
            del sys.modules[one]
    del sys.meta_path[0]
    return [value, said.buffer.getvalue().decode(), loaded, lost]

sys.executed = []
print(json.dumps([[attempt(name) for name in json.loads(sys.argv[2])], sys.executed]))
"""
"""Imports files as the importer of ansible-test does."""

NOTED = "import sys; sys.executed.append(__name__.rpartition('.')[2])\n"
ONE = "from . import two\nVALUE = two.VALUE"
TWO = "from . import three\nVALUE = three.VALUE"
"""A file that imports another, and what is between the two."""


@pytest.fixture
def imported(tmp_path):
    """What becomes of each import, what it writes, loads and removes; and which modules were executed."""
    folder = tmp_path / "ansible_collections/some/site/plugins/module_utils"
    folder.mkdir(parents=True)

    def call(names, **texts):
        for name, text in texts.items():
            (folder / f"{name}.py").write_text(NOTED + text)
        done = subprocess.run(
            [sys.executable, "-c", FILES_IMPORTED, str(tmp_path), json.dumps(names)],
            env={**os.environ, "PYTHONPATH": str(ROOT / "tools")},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


def test_what_files_import_is_executed_once_and_the_file_under_test_always(imported):
    found, executed = imported(["one", "one", "two", "three"], one=ONE, two=TWO, three="VALUE = 3")
    all_three = ["one", "three", "two"]
    assert found == [[3, "", all_three, []]] * 2 + [[3, "", ["three", "two"], []], [3, "", ["three"], []]]
    assert executed == ["one", "two", "three", "one", "two", "three"]


@pytest.mark.parametrize(
    ("text", "value", "said"),
    [
        ("import missing_package", "ModuleNotFoundError", ""),
        ("VALUE = (", "SyntaxError", ""),
        ("print('hello')\nVALUE = 3", 3, "hello\n"),
    ],
)
def test_what_is_wrong_with_a_module_is_found_for_each_file_that_imports_it(imported, text, value, said):
    found, _executed = imported(["one", "two", "one", "three"], one=ONE, two=TWO, three=text)
    assert [one[:2] for one in found] == [[value, said]] * 4


def test_a_module_that_bears_a_failed_import_of_another_is_executed_each_time(imported):
    text = "try:\n    from . import three\nexcept ValueError:\n    VALUE = 2"
    found, _executed = imported(["one", "one"], one=ONE, two=text, three="print('hello')\nraise ValueError")
    assert [one[:2] for one in found] == [[2, "hello\n"]] * 2


def test_a_module_that_removes_another_does_so_for_each_file_that_imports_it(imported):
    text = "import colorsys\nsys.modules.pop('colorsys')\nVALUE = 3"
    found, executed = imported(
        ["other", "one", "one"], other="import colorsys\nVALUE = 1", one=ONE, two=TWO, three=text
    )
    assert [one[0] for one in found] == [1, 3, 3]
    assert found[1][3] == ["colorsys"]
    assert executed == ["other", "one", "two", "three", "one", "two", "three"]


@pytest.mark.parametrize("change", ["three.VALUE = 4", "three.Kind.size = 4", "three.NAMES['b'] = 4"])
def test_what_a_file_changes_in_a_module_is_as_before_for_the_next_file(imported, change):
    three = "class Kind:\n    size = 3\nNAMES = {'a': 3}\nVALUE = 3"
    one = f"from . import three\n{change}\nVALUE = 1"
    two = "from . import three\nVALUE = [three.VALUE, three.Kind.size, len(three.NAMES)]"
    found, _executed = imported(["two", "one", "two"], one=one, two=two, three=three)
    assert [one[0] for one in found] == [[3, 3, 1], 1, [3, 3, 1]]
