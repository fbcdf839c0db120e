# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""pytest's workers, forked from a process that has imported all tests: that is most of what a worker does at first.

``python -m tests.support.warm_workers LISTENING END PYTHON FOLDER PATH ...``: the first three are those of
:mod:`tests.support.warm_server`, the paths are what pytest is asked to run in that folder. Each worker still collects
the tests, with plugins and a configuration of its own. Without byte code only this process compiles, not each worker.
"""

from __future__ import annotations

import contextlib
import gc
import os
import socket
import sys
from typing import Any

import pytest

from tests.support.warm_python import ROOT, WarmServer, write_client
from tests.support.warm_server import Server


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: list[Any]) -> None:
    """In the controlling process: start the process, and have all workers ask it."""
    server = WarmServer([str(config.invocation_params.dir), *config.args], os.environ, module=__name__)
    config.add_cleanup(server.close)
    client = server.folder / "python3"
    write_client(client, server.address, command=None, real=[sys.executable])
    for spec in specs:
        spec.python = str(client)


class Importing:
    """A plugin for pytest: the files with tests are imported, but hardly any tests are made of what they have.

    :ivar whole: whether each of them was imported to its end.
    """

    def __init__(self) -> None:
        self.whole = True
        self._has_property = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(self, obj: object) -> list[pytest.Item] | None:
        """No tests but one property: for its sake Hypothesis reads the constants of all that was imported."""
        if self._has_property or not getattr(obj, "is_hypothesis_test", False):
            return []
        self._has_property = True
        return None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """What was imported in part would be taken for the whole by the workers."""
        self.whole = self.whole and report.passed


def preload(paths: list[str]) -> bool:
    """Import what pytest would for these paths; whether all went well."""
    importing = Importing()
    with open(os.devnull, "w", encoding="utf-8") as nothing, contextlib.redirect_stdout(nothing):
        status = pytest.main(["--collect-only", "--capture=no", "-pno:cacheprovider", *paths], plugins=[importing])
    gc.collect()
    gc.freeze()
    return importing.whole and status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


def main() -> None:
    """Serve, or be a worker."""
    listening, end, python, folder, *paths = sys.argv[1:]
    os.chdir(folder)
    if paths and not preload(paths):
        # Each worker imports for itself, and tells what is wrong.
        os.chdir(ROOT)
        again = (sys.executable, "-m", "tests.support.warm_workers", listening, end, python, folder)
        os.execv(sys.executable, again)
    Server(socket.socket(fileno=int(listening)), socket.socket(fileno=int(end)), python).serve()


if __name__ == "__main__":
    main()
