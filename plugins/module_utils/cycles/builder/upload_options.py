# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the uploads cycle is asked to do."""

from __future__ import annotations

from dataclasses import dataclass

from ...model.config.types import NodepoolConfig
from ...model.errors import ConfigError
from ..frame.options import CycleOptions


@dataclass(frozen=True, kw_only=True)
class UploadOptions(CycleOptions):
    """What a cycle of uploads is asked. What is being uploaded when *duration* is over is finished.

    :param image: only this image; *provider*: only at this provider; *build_id*: upload this build, whatever is newer.
    :param force: upload what is chosen although it failed a moment ago, is paused or is there already.
    :param side_by_side: uploads of one provider at the same time.
    :param hook_timeout: seconds for a post-upload-hook.
    """

    image: str | None = None
    provider: str | None = None
    build_id: str | None = None
    force: bool = False
    side_by_side: int = 2
    hook_timeout: float = 600.0

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

    def concerns(self, image: str, provider: str) -> bool:
        """True for what was chosen."""
        return self.image in (None, image) and self.provider in (None, provider)
