# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""image_upload as a process of its own, without Ansible around it, so that it can be killed."""

from __future__ import annotations

import os
import signal
from types import TracebackType
from typing import Any

from tests.support.ansible_run import ModuleProcess
from tests.support.image_case import Builder


def arguments(builder: Builder, **options: Any) -> dict[str, Any]:
    """The options of the module; its word for a successor is left in the test's own folder."""
    return {
        "config": str(builder.site.config),
        "clouds_config": str(builder.site.clouds_yaml),
        "state_dir": str(builder.site.folder / "state"),
        "duration": 60,
        "api_timeout": 5.0,
        **options,
    }


class UploadProcess:
    """``with UploadProcess(builder) as process``; it is killed at the end if it still runs."""

    def __init__(self, builder: Builder, *, check: bool = False, diff: bool = False, **options: Any) -> None:
        self._values = {**arguments(builder, **options), "_ansible_check_mode": check, "_ansible_diff": diff}
        self._folder = builder.site.folder
        self._process: ModuleProcess | None = None

    def __enter__(self) -> UploadProcess:
        self._process = ModuleProcess("image_upload", self._values, self._folder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.__exit__(kind, problem, trace)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        assert self._process is not None
        assert self._process.poll() is None, self._process.communicate()[0]
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait(10)

    def terminate(self) -> None:
        """SIGTERM."""
        os.kill(self.pid, signal.SIGTERM)

    def result(self, timeout: float = 60.0) -> dict[str, Any]:
        """What it returns."""
        assert self._process is not None
        return self._process.result(timeout)


def run_module(builder: Builder, *, check: bool = False, diff: bool = False, **options: Any) -> dict[str, Any]:
    """Run it to its end."""
    with UploadProcess(builder, check=check, diff=diff, **options) as process:
        return process.result()
