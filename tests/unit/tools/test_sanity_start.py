# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/sanity_start.py: Ansible's loader compiles a text once, and what is wrong with a text is found each time."""

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
