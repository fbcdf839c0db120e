# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything can be imported where kazoo is not installed; using it says what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[6]
SCRIPT = """
import sys
sys.modules["kazoo"] = None
sys.path[:0] = sys.argv[1:]
import conftest
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper import locks, own
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import session
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.store import Store
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config import types
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import MissingLibraryError
try:
    Store(types.ZooKeeperSettings((types.ZooKeeperServer("127.0.0.1", 1),))).open()
except MissingLibraryError as problem:
    assert "ModuleNotFoundError" in problem.detail or "ImportError" in problem.detail
    print(problem.library)
"""


def test_import_and_use():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(ROOT)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("kazoo\n", "")
