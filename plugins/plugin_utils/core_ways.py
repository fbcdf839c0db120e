# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a version of ansible-core starts a module, for :mod:`plugin_utils.in_place`.

None of the names here belong to ansible-core's public interface. :data:`WAY` is None with a version that has others.
"""

from __future__ import annotations

import inspect
import json
from typing import Any, Protocol

from ansible.release import __version__

try:
    from ansible.module_utils.secrets import _secret_masker
except ImportError:
    _secret_masker = None

try:
    from ansible.executor.module_common import _BuiltModule
    from ansible.module_utils._internal._ansiballz._loader import run_module
    from ansible.module_utils.common.json import Direction, get_module_encoder
except ImportError:
    _BuiltModule = run_module = None

try:
    from ansible.module_utils.common.json import AnsibleJSONEncoder
except ImportError:
    AnsibleJSONEncoder = None

EARLIER = ("2.16.", "2.17.", "2.18.")
"""Versions that take arguments from a variable of ``basic`` and a program as one of four values."""

PROFILE = "legacy"
"""Name of the JSON profile between ansible-core and modules of collections, since 2.19."""

BEGINNING = """#!{interpreter}
import os, sys
here = os.path.dirname(os.path.realpath(__file__)) if "__file__" in globals() else ""
sys.path = [{root!r}, *(entry for entry in sys.path if entry not in ("", ".", here))]
"""

RUN_MODULE = """from ansible.module_utils._internal._ansiballz._loader import run_module
run_module(json_params={params!r}, profile={profile!r}, module_fqn={name!r}, modlib_path={root!r},
           extensions={{}}{secrets})
"""

RUN_PATH = """import runpy
from ansible.module_utils import basic
basic._ANSIBLE_ARGS = {params!r}
runpy.run_module({name!r}, dict(_module_fqn={name!r}, _modlib_path={root!r}), "__main__", alter_sys=True)
"""


class Way(Protocol):
    """What a version of ansible-core needs to start a module."""

    def program(self, *, interpreter: str, root: str, name: str, arguments: dict[str, Any]) -> str:
        """Return a program that imports the module *name* from below the folder *root* and runs it."""

    def configured(self, program: bytes, shebang: str, path: str) -> Any:
        """Return what ``ActionBase._configure_module`` returns for a program; *path*: file of the module."""


class Built:
    """ansible-core 2.19 and newer."""

    def program(self, *, interpreter: str, root: str, name: str, arguments: dict[str, Any]) -> str:
        """As :meth:`Way.program`."""
        encoder = get_module_encoder(PROFILE, Direction.CONTROLLER_TO_MODULE)
        params = json.dumps(arguments, cls=encoder)
        secrets = ""
        if takes_secrets(run_module):
            secrets = f", secrets=frozenset({sorted(_secret_masker.secrets_in_json(params))!r})"
        return (BEGINNING + RUN_MODULE).format(
            interpreter=interpreter, root=root, params=params.encode(), profile=PROFILE, name=name, secrets=secrets
        )

    def configured(self, program: bytes, shebang: str, path: str) -> Any:
        """As :meth:`Way.configured`."""
        built = _BuiltModule(b_module_data=program, module_style="new", shebang=shebang, serialization_profile=PROFILE)
        return built, path


class FourValues:
    """ansible-core 2.16 to 2.18."""

    def program(self, *, interpreter: str, root: str, name: str, arguments: dict[str, Any]) -> str:
        """As :meth:`Way.program`."""
        params = json.dumps(arguments, cls=AnsibleJSONEncoder, vault_to_text=True)
        return (BEGINNING + RUN_PATH).format(interpreter=interpreter, root=root, params=params.encode(), name=name)

    def configured(self, program: bytes, shebang: str, path: str) -> Any:
        """As :meth:`Way.configured`."""
        return "new", shebang, program, path


def known_core(built: Any, run: Any) -> bool:
    """Return True when ansible-core accepts the arguments that :class:`Built` passes, and needs no others.

    :param built: the class of a program to execute.
    :param run: the function that runs a module in the started process.
    """
    secrets = {"secrets"} if takes_secrets(run) else set()
    return _takes(built, {"b_module_data", "module_style", "shebang", "serialization_profile"}) and _takes(
        run, {"json_params", "profile", "module_fqn", "modlib_path", "extensions", *secrets}
    )


def takes_secrets(run: Any) -> bool:
    """Return True when the function that runs a module takes the texts to mask, as since ansible-core 2.22."""
    return _secret_masker is not None and "secrets" in inspect.signature(run).parameters


def _takes(target: Any, given: set[str]) -> bool:
    parameters = inspect.signature(target).parameters
    needed = {name for name, parameter in parameters.items() if parameter.default is parameter.empty}
    return needed <= given <= parameters.keys()


def way(version: str) -> Way | None:
    """Return how ansible-core of this version starts a module; None when that is not known."""
    if version.startswith(EARLIER):
        return FourValues() if AnsibleJSONEncoder is not None else None
    return Built() if _BuiltModule is not None and known_core(_BuiltModule, run_module) else None


WAY = way(__version__)
