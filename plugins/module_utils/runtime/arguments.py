# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that several modules share, and their conversion to the options of a cycle."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from ansible.module_utils.basic import AnsibleModule

from ..clients.state_folder import default_folder
from ..cycles.frame.config_source import read_by_hand
from ..cycles.frame.cycle_options import ConfigOptions
from ..model.component import PoolComponent, stock_providers
from ..model.config.drivers import is_of_other_driver, still_told
from ..model.config.types import NodepoolConfig
from ..model.errors import ConfigError

Options = TypeVar("Options", bound=ConfigOptions)

TREE_ARGUMENTS: dict[str, Any] = {
    "config": {"type": "path", "default": "/etc/nodepool/nodepool.yaml", "aliases": ["nodepool_config"]},
    "secure_config": {"type": "path", "aliases": ["nodepool_secure_config"]},
    "settings": {"type": "path", "aliases": ["nodepool_settings"]},
    "strict_config": {"type": "bool", "default": False},
}
"""Described by the doc fragment ``tree``. The aliases are the variables of the playbooks."""

CLOUDS_CONFIG: dict[str, Any] = {"type": "path", "aliases": ["nodepool_clouds_config"]}
CONFIG_ARGUMENTS: dict[str, Any] = {**TREE_ARGUMENTS, "clouds_config": CLOUDS_CONFIG}
"""Described by the doc fragments ``tree`` and ``tree.clouds``."""

NAMES: dict[str, Any] = {"type": "list", "elements": "str", "default": []}

PROVIDERS_ARGUMENTS: dict[str, Any] = {"providers": {"type": "list", "elements": "str"}}

API_ARGUMENTS: dict[str, Any] = {"api_timeout": {"type": "float", "default": 30.0}}

PROGRESS_ARGUMENTS: dict[str, Any] = {"progress_file": {"type": "path"}}

CYCLE_ARGUMENTS: dict[str, Any] = {
    **CONFIG_ARGUMENTS,
    **PROGRESS_ARGUMENTS,
    "duration": {"type": "float", "default": 300.0},
    "until": {"type": "str", "choices": ["settled", "deadline"], "default": "settled"},
    "state_dir": {"type": "path"},
    "control_file": {"type": "path"},
    "heartbeat_file": {"type": "path"},
    "profile_file": {"type": "path"},
    "strict_check": {"type": "bool", "default": True},
}
"""The options of every cycle. The doc fragment ``control`` describes the last five."""

AT_LEAST: dict[str, tuple[float, str]] = {
    "duration": (0, "give the seconds to run, 0 or more"),
    "first_build_room": (0, "give MiB, 0 or more"),
    "uploads_per_provider": (1, "give 1 or more"),
    "older_than": (-math.inf, "give seconds"),
    "spare_ssh_after": (0, "give seconds, or 0 to never test spare nodes again"),
}
MORE_THAN_ZERO = {"api_timeout": "seconds", "hook_timeout": "seconds", "weight": "a number"}


def load(module: AnsibleModule, *, former: bool = True) -> NodepoolConfig:
    """Return the configuration; its problems become warnings of the module.

    Only :func:`warn_of_other_drivers` tells of providers of other drivers: call it when the tree was read.

    :param former: True to use the last valid configuration of this host while the files cannot be used.
    :raises ConfigError: the configuration cannot be used; it has all problems.
    """
    return load_with_problems(module, former=former)[0]


def load_with_problems(module: AnsibleModule, *, former: bool = True) -> tuple[NodepoolConfig, list[str]]:
    """Do what *load* does, and return also what is wrong with the files while the last valid one is used.

    :raises ConfigError: as *load* does.
    """
    wrong = list(_out_of_range(module.params))
    if wrong:
        raise ConfigError(wrong)
    options = ConfigOptions(**{name: module.params[name] for name in TREE_ARGUMENTS})
    config, problems = read_by_hand(options, check=not former)
    for warning in config.warnings:
        if not is_of_other_driver(warning):
            module.warn(warning)
    return config, problems


def warn_of_other_drivers(module: AnsibleModule, config: NodepoolConfig, pools: Iterable[PoolComponent] = ()) -> None:
    """Warn of the providers of other drivers, after *load*, except those that launchers of Nodepool work on.

    :param pools: the registered pools; none when the module does not read the tree.
    """
    for warning in still_told(config.warnings, stock_providers(pools)):
        if is_of_other_driver(warning):
            module.warn(warning)


def options_of(kind: type[Options], params: Mapping[str, Any], problems: Iterable[str] = (), **others: Any) -> Options:
    """Return the options of a cycle, from the module's options of the same names.

    :param kind: the class of the options.
    :param params: the module's options.
    :param problems: further problems of the module's options.
    :param others: fields for which the module has no option of the same name.
    :raises ConfigError: when there are problems; it has all of them.
    """
    found = [*_out_of_range(params), *problems]
    if found:
        raise ConfigError(found)
    values = {field.name: params[field.name] for field in fields(kind) if field.name in params} | others
    values = {name: tuple(dict.fromkeys(value)) if isinstance(value, list) else value for name, value in values.items()}
    if "state_dir" in values and values["state_dir"] is None:
        values["state_dir"] = default_folder()
    return kind(**values)


def _out_of_range(params: Mapping[str, Any]) -> Iterable[str]:
    for name, (least, remedy) in AT_LEAST.items():
        value = params.get(name)
        if value is not None and not value >= least:  # nan is neither
            yield f"{name} is {value:g}: {remedy}"
    for name, unit in MORE_THAN_ZERO.items():
        if not params.get(name, 1) > 0:
            yield f"{name} is {params[name]:g}: give {unit}, more than 0"
