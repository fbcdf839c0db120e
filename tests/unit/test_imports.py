# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Without its libraries every file can be imported, and says what is missing when it is used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = (
    "asyncssh", "jsonschema", "kazoo", "keystoneauth1", "openstack", "prometheus_client", "requests", "urllib3",
    "waitress", "werkzeug", "yaml",
)  # fmt: skip

WITHOUT = f"""
import importlib
from importlib.machinery import PathFinder
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import MissingLibraryError

real = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name.split(".")[0] in {LIBRARIES!r} else real(name, *rest)
"""


def run(program: str) -> str:
    """What a program says that cannot find the libraries."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT + program],
        env={"PYTHONPATH": str(ROOT / "playbooks" / "collections"), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


def test_every_file_can_be_imported():
    names = [
        ".".join(("ansible_collections.stackci.nodepool", *path.relative_to(ROOT).with_suffix("").parts))
        for path in (ROOT / "plugins" / "module_utils").rglob("*.py")
    ]
    assert len(names) > 100
    assert run(f"for name in {names!r}: importlib.import_module(name)") == ""


@pytest.mark.parametrize(
    ("use", "library"),
    [
        ("clients.openstack.library import require; require()", "openstacksdk"),
        ("clients.ssh import require; require()", "asyncssh"),
        ("clients.zookeeper.link.tree_client import require_kazoo; require_kazoo()", "kazoo"),
        ("web.libraries import require_libraries; require_libraries()", "werkzeug"),
        ("clients.config_file import parse_config; parse_config('labels: []')", "PyYAML"),
    ],
)
def test_what_is_missing_is_named_on_use(use, library):
    steps = "\n    ".join(use.split("; "))
    program = f"""
try:
    from ansible_collections.stackci.nodepool.plugins.module_utils.{steps}
except MissingLibraryError as error:
    print(error.library)
"""
    assert run(program).strip() == library


def test_the_demo_starts_with_its_own_packages_only():
    """``make demo`` installs no package of the tests, and its process has no path to the collection."""
    lines = (ROOT / "tests" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    names = [re.split(r"[^\w.-]", line)[0].replace("-", "_") for line in lines if line[:1].isalpha()]
    assert "pytest" in names
    program = f"import sys\nsys.modules.update(dict.fromkeys({names!r}))\nimport tests.demo.__main__"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
