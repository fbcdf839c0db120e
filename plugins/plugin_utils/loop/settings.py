# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of a loop: a TOML file with the tables ``loop``, ``variables`` and ``environment``."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.model.similar import did_you_mean
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.log import FORMATS, TEXT

NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
TYPES: dict[str, tuple[type, ...]] = {"str": (str,), "float": (int, float), "int": (int,), "bool": (bool,)}
TYPE_WORDS = {"str": "a text in quotes", "float": "a finite number", "int": "a whole number", "bool": "true or false"}
TABLES = ("loop", "variables", "environment")


class SettingsError(Exception):
    """The settings cannot be used.

    :ivar problems: all problems, each with file, place and remedy.
    """

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class Settings:
    """The table ``loop``; times are in seconds.

    :param name: the name in lines, metrics and names of cycles.
    :param playbook: the playbook's full name, or a path.
    :param prefix: begins the names of the variables that the loop sets: ``<prefix>_duration``, ``_until``,
        ``_control_file``, ``_heartbeat_file`` and, unless variables name it, ``_state_dir``.
    :param state_dir: the folder of the cycles' folders; private to the user.
    :param collections: path of the collections; a link is followed anew for each cycle. None: Ansible's own path.
    :param programs: the folder of ansible-playbook; a link is followed anew for each cycle. None: the folder of the
        Python that runs the loop.
    :param overlap: start the successor while the cycle still works, and end the cycle when the successor stands by.
    :param duration: how long a cycle works until its successor is started (or, without overlap, until it ends).
    :param overtime: how much longer the cycle works when no successor can be started.
    :param pause: time from the end of a cycle to the start of the next; without overlap only.
    :param heartbeat: time without a heartbeat after which a cycle counts as hung and is killed.
    :param startup: how long a cycle may take to its first heartbeat.
    :param grace: how long a cycle that was asked to end may take.
    :param healthy: when a cycle has worked for this long, its failure counts as the first in a row.
    :param first_pause: wait after the second failure in a row; it doubles with each further one, up to *longest_pause*.
    :param keep_cycles, keep_files, keep_mb: how many ended cycles, files and megabytes are kept.
    :param log_format: the format of the lines of the loop and its cycles: ``text`` or ``json``.
    """

    name: str
    playbook: str
    prefix: str
    state_dir: str
    collections: str | None = None
    programs: str | None = None
    overlap: bool = True
    duration: float = 600.0
    overtime: float = 3600.0
    pause: float = 0.0
    heartbeat: float = 25.0
    startup: float = 60.0
    grace: float = 20.0
    healthy: float = 10.0
    first_pause: float = 1.0
    longest_pause: float = 60.0
    keep_cycles: int = 20
    keep_files: int = 4000
    keep_mb: float = 50.0
    log_format: str = TEXT
    variables: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


POSITIVE = ("duration", "heartbeat", "startup", "grace", "first_pause", "longest_pause", "keep_cycles", "keep_files")
NOT_NEGATIVE = ("overtime", "pause", "healthy", "keep_mb")
NEEDED = ("name", "playbook", "prefix", "state_dir")


def parse(text: str, path: str) -> Settings:
    """Parse the settings in *text*.

    :raises SettingsError: when there are problems; it has all of them.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError([f"{path}: is not valid TOML: {error}"]) from error
    known = ", ".join(TABLES)
    problems = [f"{path}: {name}: no such table; there are {known}" for name in document.keys() - set(TABLES)]
    tables = {name: document.get(name, {}) for name in TABLES}
    for name, table in tables.items():
        if not isinstance(table, dict):
            problems.append(f"{path}: {name}: must be a table: write [{name}]")
            tables[name] = {}
    loop = dict(tables["loop"])
    problems += [f"{path}: loop.{problem}" for problem in _problems(loop)]
    for name, value in tables["environment"].items():
        if not isinstance(value, str):
            problems.append(f"{path}: environment.{name}: give a text in quotes")
    if problems:
        raise SettingsError(sorted(problems))
    return Settings(**loop, variables=tables["variables"], environment=tables["environment"])


def load(path: str) -> Settings:
    """Read the settings from a file.

    :raises SettingsError: when the file cannot be read or has problems; it has all of them.
    """
    try:
        with open(path, encoding="utf-8") as file:
            return parse(file.read(), path)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError([f"{path}: cannot be read: {error}"]) from error


def _problems(loop: dict[str, Any]) -> list[str]:
    kinds = {item.name: str(item.type) for item in fields(Settings) if item.name not in TABLES}
    every = f"there are {', '.join(sorted(kinds))}"
    unknown = loop.keys() - kinds.keys()
    problems = [f"{name}: no such setting; {did_you_mean(name, kinds) or every}" for name in unknown]
    problems += [f"{name}: is missing and has no default: set it" for name in NEEDED if not loop.get(name)]
    for name in loop.keys() & kinds.keys():
        problems += _value_problems(name, kinds[name].removesuffix(" | None"), loop[name])
    if not problems and not NAME.fullmatch(loop["name"]):
        problems.append(f"name: {loop['name']!r}: use lower-case letters, digits, - and _, and start with a letter")
    if not problems and not loop["state_dir"].startswith("/"):
        problems.append(f"state_dir: {loop['state_dir']!r}: give an absolute path")
    if not problems and loop.get("log_format", TEXT) not in FORMATS:
        problems.append(f"log_format: {loop['log_format']!r}: use one of {', '.join(FORMATS)}")
    return problems


def _value_problems(name: str, kind: str, value: Any) -> list[str]:
    if not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "bool"):
        return [f"{name}: is {_shown(value)}: give {TYPE_WORDS[kind]}"]
    if not isinstance(value, int | float):
        return []
    if not math.isfinite(value):
        return [f"{name}: is {value:g}: give {TYPE_WORDS[kind]}"]
    if name in POSITIVE and value <= 0:
        return [f"{name}: is {value:g}: give more than 0"]
    if name in NOT_NEGATIVE and value < 0:
        return [f"{name}: is {value:g}: give 0 or more"]
    return []


def _shown(value: Any) -> str:
    """Return the value as TOML has it, so far as JSON is written alike."""
    return json.dumps(value, default=str)
