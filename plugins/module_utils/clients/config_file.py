# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading of the configuration into a :class:`NodepoolConfig`, or into a list of all problems of its files.

The files are nodepool.yaml, secure.conf and nodepool-settings.yaml.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

try:
    import jsonschema
except ImportError:
    JSONSCHEMA_IMPORT_ERROR: str | None = traceback.format_exc()
else:
    JSONSCHEMA_IMPORT_ERROR = None

from ..model.config.build_config import build
from ..model.config.check import check, check_secure
from ..model.config.lenient import as_nodepool_reads
from ..model.config.messages import problems_of
from ..model.config.options import SETTINGS, Schema
from ..model.config.own_settings import check_settings
from ..model.config.problems import Place, Problem, Source, split
from ..model.config.schema import NODEPOOL_SCHEMA, SECURE_SCHEMA, SETTINGS_SCHEMA
from ..model.config.substitution import expand
from ..model.config.types import NodepoolConfig
from ..model.errors import ConfigError, MissingLibraryError
from .text_file import is_encrypted, read_text
from .yaml_document import read_yaml

NOTHING = "{}"
"""The content of a nodepool-settings.yaml that sets nothing on purpose."""
Stamp = tuple[int, int, int]
"""Time of the last change in ns, size in bytes and inode of a file: differs after the file was changed or replaced."""


def file_stamps(paths: Iterable[str]) -> dict[str, Stamp]:
    """Return the stamps of those files that exist, without reading them; follows links."""
    stamps: dict[str, Stamp] = {}
    for path in paths:
        try:
            found = os.stat(path)
        except (OSError, ValueError):
            continue
        stamps[path] = (found.st_mtime_ns, found.st_size, found.st_ino)
    return stamps


def settings_beside(path: str) -> str:
    """Return the path of the settings that belong to a nodepool.yaml: ``NAME-settings.yaml`` for ``NAME.yaml``."""
    return f"{os.path.splitext(path)[0]}-settings.yaml"


@dataclass(frozen=True)
class ConfigFiles:
    """The texts of nodepool.yaml and, where they exist, of secure.conf and nodepool-settings.yaml at one moment.

    :param written: UNIX time at which the newest of them was written.
    """

    path: str
    text: str = field(repr=False)
    secure_path: str | None = None
    secure_text: str | None = field(default=None, repr=False)
    written: float = 0.0
    settings_path: str | None = None
    settings_text: str | None = field(default=None, repr=False)

    def parse(
        self, *, strict: bool = False, environ: Mapping[str, str] | None = None, part: bool = False
    ) -> NodepoolConfig:
        """Return the configuration; *strict* and *environ* as for :func:`load_config`.

        :param part: True to allow that no file names the ZooKeeper servers; then there is a warning.
        :raises ConfigError: there are problems.
        """
        return parse_config(
            self.text,
            self.path,
            self.secure_text,
            self.secure_path or "secure.conf",
            self.settings_text,
            self.settings_path or SETTINGS,
            strict=strict,
            environ=environ,
            part=part,
        )


def read_files(
    path: str,
    secure_path: str | None = None,
    settings_path: str | None = None,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> ConfigFiles:
    """Read the files without looking at their content.

    :param settings_path: None for the one beside nodepool.yaml, if there is one.
    :param sleep: called with 0.5 s, three times at most for each file, while the file does not exist.
    :raises ConfigError: one cannot be read; the error has the problems of all.
    """
    problems: list[str] = []
    texts: dict[str, str] = {}
    beside = settings_beside(path)
    own = settings_path or (beside if os.path.lexists(beside) else None)
    asked = [one for one in (path, secure_path, own) if one]
    for one in asked:
        try:
            texts[one] = read_text(one, sleep)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    secure_text, own_text = texts.get(secure_path or ""), texts.get(own or "")
    return ConfigFiles(path, texts[path], secure_path or None, secure_text, written_at(asked), own, own_text)


def sets_nothing(files: ConfigFiles) -> bool:
    """Return True if there is no nodepool-settings.yaml, or an empty one, which says nothing about what is wanted."""
    return _settings_of(files.settings_text) is None


def lost_settings(files: ConfigFiles, before: str | None) -> list[str]:
    """Return the problem that a nodepool-settings.yaml that sets nothing had options before; [] if it had none.

    Without its gates, builds would be used that nobody has tested. Only a file that sets nothing ends them.

    :param before: its text when it was accepted last; None if there was none.
    """
    had = _settings_of(before)
    if not isinstance(had, dict) or not any(had.values()):
        return []
    images = had.get("diskimages")
    entries = [one for one in images if isinstance(one, dict)] if isinstance(images, list) else []
    gates = ", ".join(str(one.get("name")) for one in entries if one.get("gate"))
    what = "does not exist" if files.settings_text is None else "is empty"
    named = f", the gate of {gates} among them" if gates else ""
    remedy = f"restore it, or write {NOTHING} into it to end them all"
    return [f"{files.settings_path or settings_beside(files.path)}: {what}, and it had options{named}: {remedy}"]


def _settings_of(text: str | None) -> Any:
    """Return the data of a nodepool-settings.yaml, of any form; None if it is empty."""
    return read_yaml(expand(text or "", os.environ).text).data


def written_at(paths: Iterable[str]) -> float:
    """Return the UNIX time at which the newest of the files was written; 0 when none exists."""
    return max((stamp[0] / 1e9 for stamp in file_stamps(paths).values()), default=0.0)


def load_config(
    path: str,
    secure_path: str | None = None,
    settings_path: str | None = None,
    *,
    strict: bool = False,
    environ: Mapping[str, str] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> NodepoolConfig:
    """Read nodepool.yaml, when given secure.conf, and nodepool-settings.yaml.

    :param settings_path: None for the one beside nodepool.yaml, if there is one.

    :param strict: unknown keys, keys that are written twice and providers of other drivers are errors, not warnings.
    :param environ: the variables for ``%(NODEPOOL_X)``; None for the environment of this process.
    :param sleep: called with 0.5 s, three times at most for each file, while the file does not exist.
    :raises ConfigError: there are problems; the error has every problem and warning of all files.
    :raises MissingLibraryError: PyYAML or jsonschema is not installed.
    """
    return read_files(path, secure_path, settings_path, sleep=sleep).parse(strict=strict, environ=environ)


def read_source(
    path: str, *, secret: bool = False, ours: bool = False, sleep: Callable[[float], None] = time.sleep
) -> Source:
    """Return the content of one of the files with the place of each value, without checking its meaning.

    :raises ConfigError: the file cannot be read.
    """
    return _read(read_text(path, sleep), path, os.environ, secret=secret, ours=ours)[0]


def parse_config(
    text: str,
    path: str = "nodepool.yaml",
    secure_text: str | None = None,
    secure_path: str = "secure.conf",
    settings_text: str | None = None,
    settings_path: str = SETTINGS,
    *,
    strict: bool = False,
    environ: Mapping[str, str] | None = None,
    part: bool = False,
) -> NodepoolConfig:
    """Read the configuration from texts, as :func:`load_config` does from files; the paths only appear in messages."""
    if environ is None:
        environ = os.environ
    main, main_problems = _read(text, path, environ)
    secure, secure_problems = _read(secure_text or "", secure_path, environ, secret=True)
    settings, settings_problems = _read(settings_text or "", settings_path, environ, ours=True)
    elsewhere = bool(secure_problems) or bool(secure.data and secure.data.get("zookeeper-servers"))
    if main.data is not None:
        found = _validate(main, NODEPOOL_SCHEMA) + check(main.data, zookeeper_elsewhere=elsewhere, part=part)
        main_problems += _news(main, found, main_problems)
    elif not main_problems:
        main_problems.append(Problem((), "is empty: write at least the key zookeeper-servers"))
    if secure.data is not None:
        found = _validate(secure, SECURE_SCHEMA) + check_secure(secure.data, main.data)
        secure_problems += _news(secure, found, secure_problems)
    if settings.data is not None:
        found = _validate(settings, SETTINGS_SCHEMA) + check_settings(settings.data, main.data)
        settings_problems += _news(settings, found, settings_problems)
    all_found = [(main, main_problems), (secure, secure_problems), (settings, settings_problems)]
    told = [split(source, problems, strict=strict) for source, problems in all_found]
    errors, warnings = ([text for one in told for text in one[place]] for place in (0, 1))
    if errors:
        raise ConfigError(errors, warnings)
    return build(main.data, secure.data, settings.data, path=path, warnings=warnings)


def _read(
    text: str, name: str, environ: Mapping[str, str], *, secret: bool = False, ours: bool = False
) -> tuple[Source, list[Problem]]:
    """Return the data of *text* and its problems, without checking its meaning."""
    if is_encrypted(text):
        sentence = "is encrypted with ansible-vault: decrypt it, or let a playbook write it from a vaulted variable"
        return Source(name, None, Place(1), (), secret=secret, ours=ours), [Problem((), sentence)]
    expanded = expand(text, environ)
    document = read_yaml(expanded.text, secret=secret)
    problems = [*expanded.problems, *document.problems]
    data = document.data
    source = Source(name, data, document.places, expanded.lines, secret=secret, hidden=expanded.values, ours=ours)
    if data is not None and not isinstance(data, dict):
        kind = "list" if isinstance(data, list) else "single value"
        keys = "zookeeper-servers: and diskimages:" if secret else "labels: and providers:"
        problems.append(Problem((), f"holds a {kind}; expected 'key: value' lines, such as {keys}"))
        source = replace(source, data=None)
    elif data is not None:
        data, more = as_nodepool_reads(data)
        source = replace(source, data=data)
        problems += more
    return source, problems


def _validate(source: Source, schema: Schema) -> list[Problem]:
    """Return every problem that *schema* finds."""
    if JSONSCHEMA_IMPORT_ERROR is not None:
        raise MissingLibraryError("jsonschema", JSONSCHEMA_IMPORT_ERROR)
    return problems_of(jsonschema.Draft202012Validator(schema).iter_errors(source.data), source)


def _news(source: Source, found: Iterable[Problem], known: Iterable[Problem]) -> list[Problem]:
    """Return *found* without the consequences of *known*, i.e. problems of values that could not be read."""
    unread = {problem.line for problem in known if problem.severity == "error"}
    return [
        problem
        for problem in found
        if source.places.line_of(problem.path) not in unread or isinstance(source.value_at(problem.path), dict | list)
    ]
