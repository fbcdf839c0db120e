# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each interpreter of ansible-test's virtual environments does at its start; ``tools/sanity.py`` copies it there.

The sanity test ``import`` imports each file of the collection with everything that it imports, and forgets it again.
Ansible's loader of collections keeps no byte code, so one file was compiled hundreds of times, and so was the text of
each method of a dataclass, which was nearly all that this test cost. Here both are remembered, and a module that the
file under test imports is executed once, if nothing could be found in that (:class:`Executed`). The collections of
garbage are rarer, since nearly all of pylint's objects live until it ends; then nobody looks through them, which was a
quarter of what pylint cost.
"""

from __future__ import annotations

import atexit
import builtins
import dataclasses
import gc
import importlib.machinery
import importlib.util
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, ModuleType
from typing import Any

LOADER = "ansible.utils.collection_loader._collection_finder"
IMPORTER = "RestrictedModuleLoader"
"""The class of what stands before all other finders while the test ``import`` imports a file; each file has its own."""

CHECKED = ("ansible.", "ansible_collections.")
"""Begins of the names of what the test imports anew for each file."""


class Memory:
    """The function ``compile``, as the loader calls it; what cannot be compiled raises its error each time."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], CodeType] = {}

    def __call__(self, *given: Any, **words: Any) -> CodeType:
        key = (given, *sorted(words.items()))
        if key not in self._known:
            self._known[key] = compile(*given, **words)
        return self._known[key]


HOLDERS = (dict, list, set)
"""What others could change in a module."""


class Kept:
    """A module that was executed, and what has to be the same when it is handed back.

    :ivar imports: what it has imported itself of what is imported anew for each file, in that order.
    """

    def __init__(self, module: ModuleType, imports: Mapping[str, None]) -> None:
        self.module = module
        self.imports = tuple(imports)
        # In collections with private names functions of the module remember what they are called with.
        named = [value for name, value in vars(module).items() if name[0] != "_" and isinstance(value, HOLDERS)]
        holders = [module, *named, *(value for value in vars(module).values() if isinstance(value, type))]
        self._content = [(holder, _content(holder)) for holder in holders]

    def unchanged(self) -> bool:
        """Whether the module, its classes and its collections still hold the same objects."""
        for holder, content in self._content:
            found = _content(holder)
            if len(found) != len(content) or not all(map(operator.is_, found, content)):
                return False
        return True


def _content(holder: object) -> list[object]:
    """The objects that a module, a class or a collection holds."""
    if isinstance(holder, (list, set)):
        return list(holder)
    names: Mapping[Any, Any] = holder if isinstance(holder, dict) else vars(holder)
    return [*names, *names.values()]


class Executed:
    """Executes modules in the place of the loader's ``exec_module``, and in the test ``import`` each of them once.

    The file under test is always executed. What it imports is handed back, if a file before has imported it, and what
    that imports is imported as well. A package is always executed, since it keeps each of its modules once imported.
    So is a module in which the test could find something, as that counts for each file that imports it: one that
    raises, writes, or goes on after an import that has failed. When a file has changed what it imports, all modules are
    executed anew for the next files. After one that replaces or removes modules, all are always executed, since others
    would import these again.

    :param execute: the method of the loader.
    """

    def __init__(self, execute: Callable[[Any, ModuleType], None]) -> None:
        self._execute = execute
        self._kept: dict[str, Kept] = {}
        self._importer: object = None
        self._used: list[Kept] = []
        self._always = False

    def __call__(self, loader: Any, module: ModuleType) -> None:
        importer, spec = sys.meta_path[0], module.__spec__
        if (
            self._always
            or type(importer).__name__ != IMPORTER
            or spec is None
            or spec.submodule_search_locations is not None
            or getattr(loader, "_redirect_module", True)
        ):
            self._execute(loader, module)
            return
        if importer is not self._importer:
            self._importer = importer
            if not all(kept.unchanged() for kept in self._used):
                self._kept.clear()
            self._used.clear()
        if spec.name == getattr(importer, "name", spec.name):
            self._execute_watched(loader, module)
        elif kept := self._kept.get(spec.name):
            self._used.append(kept)
            sys.modules[spec.name] = kept.module
            for name in kept.imports:
                if name not in sys.modules:
                    importlib.import_module(name)
        else:
            self._execute_and_keep(loader, module, spec.name)

    def _execute_and_keep(self, loader: Any, module: ModuleType, name: str) -> None:
        recorded: dict[str, None] = {}
        failed: list[str] = []

        def record(
            wanted: str,
            given: Mapping[str, Any] | None = None,
            local: Mapping[str, Any] | None = None,
            names: Sequence[str] | None = (),
            level: int = 0,
        ) -> ModuleType:
            """The function ``__import__`` of this module."""
            whole = importlib.util.resolve_name("." * level + wanted, str((given or {}).get("__package__") or ""))
            try:
                found = builtins.__import__(wanted, given, local, names or (), level)
            except BaseException:
                failed.append(whole)
                raise
            for one in (whole, *(f"{whole}.{part}" for part in names or ())):
                if _checked(one) and one in sys.modules:
                    recorded[one] = None
            return found

        vars(module)["__builtins__"] = {**vars(builtins), "__import__": record}
        written = _written()
        try:
            self._execute_watched(loader, module)
        finally:
            vars(module)["__builtins__"] = vars(builtins)
        if _written() == written and sys.meta_path[0] is self._importer and not any(map(_checked, failed)):
            self._used.append(Kept(module, recorded))
            self._kept[name] = self._used[-1]

    def _execute_watched(self, loader: Any, module: ModuleType) -> None:
        before = dict(sys.modules)
        try:
            self._execute(loader, module)
        finally:
            if any(sys.modules.get(one) is not known for one, known in before.items()):
                self._always = True


def _checked(name: str) -> bool:
    """Whether a module is imported anew for each file."""
    return name.startswith(CHECKED)


def _written() -> list[int]:
    """How much was written to the standard files that the test has replaced."""
    for file in (sys.stdout, sys.stderr):
        file.flush()
    return [file.tell() for file in (sys.stdout, sys.stderr)]


class Finder:
    """Finds the loader as Python does, and gives it the two when it has been imported."""

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
                kind: Any = vars(module).get("_AnsibleCollectionLoader")
                if hasattr(kind, "exec_module"):
                    executed = Executed(kind.exec_module)

                    def execute_once(loader: Any, module: ModuleType) -> None:
                        executed(loader, module)

                    kind.exec_module = execute_once

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
