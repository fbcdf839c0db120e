# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each interpreter of ansible-test's virtual environments does at its start; ``tools/sanity.py`` copies it there.

The sanity test ``import`` imports each file of the collection with everything that it imports, and forgets it again.
Ansible's loader of collections keeps no byte code, so one file was compiled hundreds of times, and so was the text of
each method of a dataclass, which was nearly all that this test cost. Here both are remembered. The collections of
garbage are rarer, since nearly all of pylint's objects live until it ends; then nobody looks through them, which was a
quarter of what pylint cost.
"""

from __future__ import annotations

import atexit
import dataclasses
import gc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import CodeType, ModuleType
from typing import Any

LOADER = "ansible.utils.collection_loader._collection_finder"


class Memory:
    """The function ``compile``, as the loader calls it; what cannot be compiled raises its error each time."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], CodeType] = {}

    def __call__(self, *given: Any, **words: Any) -> CodeType:
        key = (given, *sorted(words.items()))
        if key not in self._known:
            self._known[key] = compile(*given, **words)
        return self._known[key]


class Finder:
    """Finds the loader as Python does, and gives it that function when it has been imported."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """What Python asks each finder for each module; None for all other modules."""
        if name != LOADER:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_give(module: ModuleType) -> None:
                run(module)
                vars(module)["compile"] = Memory()

            spec.loader.exec_module = run_and_give  # type: ignore[method-assign]
        return spec


METHODS = Memory()


def execute(text: str, *spaces: dict[str, Any]) -> None:
    """The function ``exec``, as :mod:`dataclasses` calls it."""
    exec(METHODS(text, "<string>", "exec", dont_inherit=True), *spaces)


sys.meta_path.insert(0, Finder())
vars(dataclasses)["exec"] = execute
gc.set_threshold(100_000, 50, 100)
atexit.register(gc.freeze)
