# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of the builds cycle and the uploads cycle."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from ....model.config.types import NodepoolConfig
from ....model.errors import ConfigError, UnknownName
from ...frame.cycle_options import CycleOptions, unknown_providers


@dataclass(frozen=True, kw_only=True)
class BuildOptions(CycleOptions):
    """The options of a builds cycle. A build that runs at the end of *duration* is finished, within its build-timeout.

    :param images: names of diskimages to build when they are due; None for all.
    :param force: build the named images although they are not due.
    :param first_build_room: MiB for the files of an image that was never built, and as many for its scratch space.
    :param convert_vhd: True to make a vhd with qemu-img if there is no vhd-util.
    """

    images: tuple[str, ...] | None = None
    force: bool = False
    convert_vhd: bool = False
    first_build_room: int = 1024

    def load(self) -> NodepoolConfig:
        """Read the configuration and check that it has the chosen images.

        :raises ConfigError: with all problems.
        """
        config = self.reload()
        unknown = unknown_images(config, self.images or ())
        problems = [*unknown]
        if self.force and not self.images:
            problems.append("force: no image is named: set image_names to build images that are not due")
        if not config.images_dir:
            problems.append(f"{config.path}: images-dir is missing: set the directory for the image files")
        if problems:
            raise UnknownName(problems) if problems == unknown else ConfigError(problems)
        return config

    def reload(self) -> NodepoolConfig:
        """Read the configuration as it is now; chosen images may be missing in it.

        :raises ConfigError: with all problems.
        """
        config = super().reload()
        return replace(config, images_dir=os.path.abspath(config.images_dir)) if config.images_dir else config

    def chosen(self, config: NodepoolConfig) -> list[str]:
        """Return the names of the images to build, in the order of the configuration."""
        return [name for name in config.diskimages if self.images is None or name in self.images]


@dataclass(frozen=True, kw_only=True)
class UploadOptions(CycleOptions):
    """The options of an uploads cycle. Uploads under way at the end of *duration* are finished.

    :param image: only this image; *provider*: only at this provider; *build_id*: upload this build even if there is a
        newer one.
    :param force: upload the choice although it failed recently, is paused or exists already.
    :param side_by_side: the number of parallel uploads to one provider.
    :param hook_timeout: seconds for a post-upload-hook.
    """

    image: str | None = None
    provider: str | None = None
    build_id: str | None = None
    force: bool = False
    side_by_side: int = 2
    hook_timeout: float = 600.0

    def load(self) -> NodepoolConfig:
        """Read the configuration and check that it has the chosen provider and image.

        :raises ConfigError: with all problems.
        """
        config = self.reload()
        problems = []
        if not config.images_dir:
            problems.append(f"{config.path}: images-dir is missing: set the directory of the image files")
        if self.provider is not None:
            problems += unknown_providers(config, [self.provider], "provider")
        if self.image is not None and self.image not in config.diskimages:
            known = ", ".join(config.diskimages) or "none"
            problems.append(f"image: {self.image!r} is not a diskimage in {config.path}, which has {known}")
        if problems:
            raise ConfigError(problems)
        return config

    def concerns(self, image: str, provider: str) -> bool:
        """Return True if the options choose this image at this provider."""
        return self.image in (None, image) and self.provider in (None, provider)


def unknown_images(config: NodepoolConfig, names: tuple[str, ...]) -> list[str]:
    """Return a sentence for each name that is not a diskimage of the configuration, or an abstract one."""
    known = ", ".join(config.diskimages) or "none"
    return [
        f"image_names: {name!r} is not a diskimage in {config.path} that can be built; it has {known}"
        for name in names
        if name not in config.diskimages
    ]
