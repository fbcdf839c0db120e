# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that cycles share: where the configuration is, how long a cycle runs, how clouds are called."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ...clients.config_file import (
    ConfigFiles,
    Stamp,
    file_stamps,
    read_files,
    settings_beside,
)
from ...model.api_timeouts import ApiTimeouts
from ...model.config.types import NodepoolConfig, Provider
from ...model.errors import CloudAuthError, ConfigError

if TYPE_CHECKING:
    from ...clients.openstack.api_names import ApiCall
    from ...clients.openstack.cloud_client import CloudClient

SETTLED = "settled"
DEADLINE = "deadline"


@dataclass(frozen=True, kw_only=True)
class ConfigOptions:
    """Where the configuration is, and how its clouds are called.

    :param config: path of nodepool.yaml.
    :param secure_config: path of secure.conf.
    :param settings: path of nodepool-settings.yaml; None for the one beside nodepool.yaml, if there is one.
    :param strict_config: True to treat warnings about the configuration as errors.
    :param clouds_config: path of clouds.yaml; None for the places where openstacksdk looks for it.
    :param api_timeout: seconds without an answer after which a call of a cloud's API is given up.
    :param told: called after each call of a cloud's services.
    :param files: the texts to use instead of those that are in the files now.
    :param part: True to check nodepool.yaml by itself: the file that names the ZooKeeper servers may be elsewhere.
    """

    config: str
    secure_config: str | None = None
    settings: str | None = None
    strict_config: bool = False
    clouds_config: str | None = None
    api_timeout: float = ApiTimeouts().silence
    told: Callable[[ApiCall], None] | None = None
    files: ConfigFiles | None = None
    part: bool = False

    @property
    def timeouts(self) -> ApiTimeouts:
        """The time-outs of calls of an API."""
        return ApiTimeouts(self.api_timeout)

    def reload(self) -> NodepoolConfig:
        """Read the configuration as it is now. Names that other options choose may be missing in it.

        :raises ConfigError: with all problems.
        """
        files = self.files or read_files(self.config, self.secure_config, self.settings)
        return files.parse(strict=self.strict_config, part=self.part)

    def load(self) -> NodepoolConfig:
        """Read the configuration at the beginning of a cycle, and check the names that other options choose.

        :raises ConfigError: with all problems.
        """
        return self.reload()

    def stamps(self) -> dict[str, Stamp]:
        """Return the stamps that change when nodepool.yaml, secure.conf or nodepool-settings.yaml is written."""
        settings = self.settings or settings_beside(self.config)
        return file_stamps([self.config, *([self.secure_config] if self.secure_config else []), settings])

    def cloud_stamps(self) -> dict[str, Stamp]:
        """Return the stamps that change when clouds.yaml is written."""
        from ...clients.openstack.clouds import clouds_files

        return file_stamps(clouds_files(self.clouds_config))

    def client(self, provider: Provider) -> CloudClient:
        """Return a client of the provider's cloud.

        :raises CloudAuthError: clouds.yaml cannot be used for it.
        """
        return self._client(provider, self.clouds_config)

    def _client(self, provider: Provider, clouds_config: str | None) -> CloudClient:
        # openstacksdk takes half a second and 25 MiB; modules that call no cloud have these options, too.
        from ...clients.openstack.cloud_client import CloudClient

        timeouts = self.timeouts
        return CloudClient(
            provider,
            clouds_config=clouds_config,
            connect_timeout=timeouts.connect,
            read_timeout=timeouts.silence,
            total_timeout=timeouts.call,
            told=self.told,
        )


@dataclass(frozen=True, kw_only=True)
class CycleOptions(ConfigOptions):
    """The options of every cycle that runs for a time.

    :param duration: seconds in which new work is begun; each cycle describes how it finishes work under way then.
    :param until: ``settled`` to end as soon as there is nothing more to do, ``deadline`` to run until the deadline.
    :param state_dir: directory of the session files by which a cycle releases the locks of dead cycles of this host;
        None for no hand-over.
    """

    duration: float = 300.0
    until: str = SETTLED
    state_dir: str | None = None

    def lasting_client(self, provider: Provider) -> CloudClient:
        """Return a client of the provider's cloud.

        While clouds.yaml cannot be used for it, that is with the entry with which it could last be used on this host;
        then the client's *login_problem* says why.

        :raises CloudAuthError: clouds.yaml cannot be used for it, and no usable entry is kept.
        """
        from ...clients.kept_clouds import find, keep
        from ...clients.openstack.clouds import clouds_file

        wanted = self.clouds_config, provider.cloud, provider.region_name
        try:
            client = self.client(provider)
        except CloudAuthError as error:
            path, at = (find(self.state_dir, *wanted) if self.state_dir else None) or ("", 0.0)
            if not path:
                raise
            try:
                client = self._client(provider, path)
            except CloudAuthError:
                raise error from None
            since = f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"
            client.login_problem = f"{error}; the entry of {since} stays in use"
            return client
        if self.state_dir:
            keep(self.state_dir, self.clouds_config, clouds_file(self.clouds_config), *wanted[1:])
        return client


def with_providers(config: NodepoolConfig, names: Collection[str] | None) -> NodepoolConfig:
    """Return the configuration if it has all providers in *names*.

    :raises ConfigError: with a sentence for each name that it does not have.
    """
    unknown = unknown_providers(config, names or ())
    if unknown:
        raise ConfigError(unknown)
    return config


def unknown_providers(config: NodepoolConfig, names: Collection[str], option: str = "providers") -> list[str]:
    """Return a sentence for each name that is not a provider of the configuration.

    :param option: the option that has the names.
    """
    known = ", ".join(config.providers) or "none"
    return [
        f"{option}: {name!r} is not a provider in {config.path}, which has {known}"
        for name in names
        if name not in config.providers
    ]
