# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls the function of a module as the module does, with its own argument spec."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import IO, Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from ansible_collections.stackci.nodepool.plugins.module_utils.model.foreign import returned
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.malloc_options import set_malloc_options

from .shapes import Work

RUNTIME = "ansible_collections.stackci.nodepool.plugins.module_utils.runtime"
Say = Callable[[str], None]


class Caller:
    """Stands for AnsibleModule: the options, check mode, and warnings.

    :param params: the validated options.
    :param warn: takes each warning.
    """

    check_mode = False
    _diff = False

    def __init__(self, params: Mapping[str, Any], warn: Say) -> None:
        self.params = dict(params)
        self.warn = warn


def call(work: Work, options: Mapping[str, Any], say: Say, progress: Say | None = None) -> dict[str, Any]:
    """Return the result of a module's function.

    :param options: options of the module; those that the module does not have are left out.
    :param say: takes warnings.
    :param progress: takes lines of progress, for functions that have any.
    :raises NodepoolError: as the function does.
    :raises ConfigError: also when the module does not accept the options.
    """
    logging.getLogger().addHandler(logging.NullHandler())  # libraries would print on standard error
    set_malloc_options()
    home = import_module(f"{RUNTIME}.{work.file}")
    spec: dict[str, Any] = getattr(home, work.spec)
    rules: dict[str, Any] = getattr(home, work.rules) if work.rules else {}
    function: Callable[[Any], dict[str, Any]] = getattr(home, work.function)
    given = {name: value for name, value in options.items() if name in spec}
    with _progress_file(progress if "progress_file" in spec else None) as path:
        if path is not None:
            given["progress_file"] = path
        checked = ArgumentSpecValidator(spec, **rules).validate(given)
        if checked.error_messages:
            raise ConfigError(checked.error_messages)
        result: dict[str, Any] = returned(function(Caller(checked.validated_parameters, say)))
    return result


@contextmanager
def _progress_file(progress: Say | None) -> Iterator[str | None]:
    """Yield the path of a pipe, whose lines a thread shows; None when nobody wants to see them."""
    if progress is None:
        yield None
        return
    reading, writing = os.pipe()
    reader = threading.Thread(target=_show, args=(os.fdopen(reading, encoding="utf-8"), progress), daemon=True)
    reader.start()
    try:
        yield f"/dev/fd/{writing}"
    finally:
        os.close(writing)
        reader.join(2.0)


def _show(lines: IO[str], progress: Say) -> None:
    with lines:
        for line in lines:
            progress(str(json.loads(line)["line"]))


def stderr(line: str) -> None:
    """Print a line on standard error, which may be closed."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)
