# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration for whatever begins: the files, or the last valid configuration while they cannot be used.

Each valid configuration is kept on this host. So a mistake in nodepool.yaml does not stop the cycles that begin after
it, or the modules that show what happens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from ...clients.config_file import Stamp, lost_settings, read_files, sets_nothing
from ...clients.kept_config import Kept, find, keep
from ...clients.private_file import FolderNotPrivate
from ...clients.state_folder import default_folder
from ...model.config.types import NodepoolConfig
from ...model.errors import ConfigError
from ...model.lines import Trouble
from .cycle_options import ConfigOptions, CycleOptions

MOST = 3
"""Largest number of problems in one sentence."""


class ConfigSource:
    """Reads the files that the options name.

    :param folder: where valid configurations are kept; "" for nowhere, which also means that none is used.
    :param say: takes a line when a former configuration is used, or one cannot be kept.
    :param keeps: False for programs that only show: they use what others have kept.
    :ivar problems: what is wrong with the files while a former configuration is used; empty otherwise.
    """

    def __init__(
        self,
        options: ConfigOptions,
        folder: str,
        say: Callable[[str], None] = lambda line: None,
        *,
        keeps: bool = True,
    ) -> None:
        self._options = options
        self._folder = folder
        self._say = say
        self._keeps = keeps
        self._accepted: str | None = None
        """The text of nodepool-settings.yaml that this program has accepted last; None if it had none."""
        self._has_read = False
        self.problems: list[str] = []

    def begin(self) -> NodepoolConfig:
        """Return the configuration of the files; while they cannot be used, the last valid one of this host.

        The first warning of the last valid one says so.

        :raises ConfigError: the files cannot be used and no usable configuration is kept; it has all their problems.
        """
        try:
            return self._read(names=True)
        except ConfigError as error:
            former = self._former()
            if former is None:
                raise
            config, written = former
            self.problems = list(error.problems)
            notice = told(self._options.config, self._written(), error.problems, written)
            self._say(Trouble(f"configuration: {notice}"))
            return replace(config, warnings=(notice, *config.warnings))

    def reload(self) -> NodepoolConfig:
        """Return the configuration of the files as they are now; names that options choose may be missing in it.

        :raises ConfigError: with all problems.
        """
        return self._read(names=False)

    def check(self) -> NodepoolConfig:
        """Return the configuration of the files as they are now.

        :raises ConfigError: with all problems.
        """
        return self._read(names=True)

    def stamps(self) -> Mapping[str, Stamp]:
        """Return the stamps of nodepool.yaml, secure.conf and nodepool-settings.yaml."""
        return self._options.stamps()

    def cloud_stamps(self) -> Mapping[str, Stamp]:
        """Return the stamps of clouds.yaml and of the files that it is merged with."""
        return self._options.cloud_stamps()

    def _read(self, *, names: bool) -> NodepoolConfig:
        """Read the files and keep them if they are valid.

        :param names: True to check also that the configuration has what other options choose.
        """
        mine = self._options
        files = read_files(mine.config, mine.secure_config, mine.settings)
        options = replace(mine, files=files)
        config = options.load() if names else options.reload()
        lost = lost_settings(files, self._settings_before()) if sets_nothing(files) else []
        if lost:
            raise ConfigError(lost, config.warnings)
        self._accepted, self._has_read = files.settings_text, True
        if self._folder and self._keeps:
            try:
                keep(self._folder, files)
            except (FolderNotPrivate, ConfigError, OSError) as problem:
                self._say(f"configuration: it cannot be saved as a fallback for a later mistake: {problem}")
        return config

    def _former(self) -> tuple[NodepoolConfig, float] | None:
        kept = self._kept()
        if kept is None:
            return None
        try:
            found = replace(self._options, files=kept.files).load(), kept.files.written
        except ConfigError:
            return None
        self._accepted, self._has_read = kept.files.settings_text, True
        return found

    def _kept(self, *, services: bool = True) -> Kept | None:
        mine = self._options
        names = mine.config, mine.secure_config, mine.settings
        return find([self._folder], *names, services=services) if self._folder else None

    def _settings_before(self) -> str | None:
        """Return the text of nodepool-settings.yaml that was accepted last: here, or by another program of the host."""
        if self._has_read:
            return self._accepted
        kept = self._kept(services=False) or self._kept()
        return kept.files.settings_text if kept is not None else None

    def _written(self) -> float:
        return max((stamp[0] / 1e9 for stamp in self._options.stamps().values()), default=0.0)


def config_by_hand(options: ConfigOptions, *, check: bool = False) -> NodepoolConfig:
    """Return the configuration for something that is no cycle; while the files cannot be used, the last valid one.

    The first warning of the last valid one says so. Nothing is kept: on a host without cycles there is none.

    :param check: True in check mode, which tells what is wrong with the files.
    :raises ConfigError: the files cannot be used, and no usable configuration is kept, or *check* is true.
    """
    return read_by_hand(options, check=check)[0]


def read_by_hand(options: ConfigOptions, *, check: bool = False) -> tuple[NodepoolConfig, list[str]]:
    """Do what *config_by_hand* does, and return also what is wrong with the files while the last valid one is used.

    :raises ConfigError: as *config_by_hand* does.
    """
    folder = options.state_dir or "" if isinstance(options, CycleOptions) else default_folder()
    source = ConfigSource(options, folder, keeps=False)
    if check:
        return source.check(), []
    return source.begin(), source.problems


def told(path: str, written: float, problems: list[str], former: float) -> str:
    """Return one sentence: which file cannot be used and why, and which configuration is used instead.

    :param written, former: UNIX times at which the two were written.
    """
    more = [f"and {len(problems) - MOST} more"] if len(problems) > MOST else []
    why = "; ".join([*problems[:MOST], *more])
    return f"{path} of {_time(written)} cannot be used: {why}; the version of {_time(former)} stays in use"


def _time(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}" if at > 0 else "an unknown time"
