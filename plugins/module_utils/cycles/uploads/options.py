# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the uploads cycle is asked to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import (
    Stamp,
    file_stamps,
    load_config,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.api_names import ApiCall
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.client import CloudClient
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.clouds import clouds_files
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import NodepoolConfig, Provider
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from ansible_collections.stackci.nodepool.plugins.module_utils.model.patience import Patience

SETTLED = "settled"
DEADLINE = "deadline"


@dataclass(frozen=True)
class UploadOptions:
    """Times are seconds.

    :param duration: how long to begin new things at most; what is being uploaded then is finished.
    :param until: ``settled`` to end as soon as there is nothing more to do, ``deadline`` to stay.
    :param image: only this image; *provider*: only at this provider; *build_id*: upload this build, whatever is newer.
    :param force: upload what is chosen although it failed a moment ago, is paused or is there already.
    :param side_by_side: uploads of one provider at the same time.
    :param hook_timeout: for a post-upload-hook.
    :param api_timeout: for which a cloud's API may say nothing.
    :param state_dir: where cycles on this host leave word for each other; None: they do not.
    :param told: hears of each call of a cloud's services.
    """

    config: str
    secure_config: str | None = None
    strict_config: bool = False
    clouds_config: str | None = None
    duration: float = 300.0
    until: str = SETTLED
    image: str | None = None
    provider: str | None = None
    build_id: str | None = None
    force: bool = False
    side_by_side: int = 2
    hook_timeout: float = 600.0
    api_timeout: float = Patience().silence
    state_dir: str | None = None
    told: Callable[[ApiCall], None] | None = None

    def load(self) -> NodepoolConfig:
        """The configuration, with what was chosen checked.

        :raises ConfigError: with all problems.
        """
        config = self.reload()
        problems = []
        if not config.images_dir:
            problems.append(f"{config.path}: images-dir is not set: name the directory with the image files")
        if self.provider is not None and self.provider not in config.providers:
            known = ", ".join(config.providers) or "none"
            problems.append(f"provider: {self.provider!r} is not a provider of {config.path}; it has {known}")
        if self.image is not None and self.image not in config.diskimages:
            known = ", ".join(config.diskimages) or "none"
            problems.append(f"image: {self.image!r} is not a diskimage of {config.path}; it has {known}")
        if problems:
            raise ConfigError(problems)
        return config

    def reload(self) -> NodepoolConfig:
        """The configuration as it is now.

        :raises ConfigError: with all problems.
        """
        return load_config(self.config, self.secure_config, strict=self.strict_config)

    def stamps(self) -> dict[str, Stamp]:
        """What tells whether nodepool.yaml or secure.conf were written."""
        return file_stamps([self.config, *([self.secure_config] if self.secure_config else [])])

    def cloud_stamps(self) -> dict[str, Stamp]:
        """What tells whether clouds.yaml was written."""
        return file_stamps(clouds_files(self.clouds_config))

    def client(self, provider: Provider) -> CloudClient:
        """The client of a provider.

        :raises CloudAuthError: clouds.yaml cannot be used for it.
        """
        patience = Patience(self.api_timeout)
        return CloudClient(
            provider,
            clouds_config=self.clouds_config,
            connect_timeout=patience.connect,
            read_timeout=patience.silence,
            total_timeout=patience.call,
            told=self.told,
        )

    def concerns(self, image: str, provider: str) -> bool:
        """True for what was chosen."""
        return self.image in (None, image) and self.provider in (None, provider)

    @property
    def restricted(self) -> bool:
        """True when not everything was chosen."""
        return (self.image, self.provider, self.build_id) != (None, None, None)
