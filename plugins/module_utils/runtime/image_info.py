# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules that show images: they read everything once and return rows."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..clients.diskimage_builder.images_dir import ImagesDir
from ..clients.zookeeper.link import paths
from ..clients.zookeeper.store import Store
from ..clients.zookeeper.tree_reading import Aged
from ..cycles.builder.context.observe_images import (
    ROOTS,
    local_files,
    provider_formats,
    view_images,
)
from ..cycles.frame.cycle_options import ConfigOptions
from ..imaging.image_snapshot import ImagesView, SeenImages
from ..model.config.types import NodepoolConfig
from ..model.errors import ImageFileError, StoreUnreachable, UnknownName
from ..model.launch_counts import LaunchCounts
from ..model.lines import of_providers
from ..model.own_tree import LAUNCH_COUNTS
from ..reporting.image_rows import builds_result, images_result
from .arguments import (
    CONFIG_ARGUMENTS,
    NAMES,
    load,
    options_of,
    warn_of_other_drivers,
)
from .last_state import LAST_STATE_ARGUMENTS, last_state, with_age

LAUNCHES = paths.own(LAUNCH_COUNTS)
DIB_IMAGE_INFO_ARGUMENTS: dict[str, Any] = {**CONFIG_ARGUMENTS, **LAST_STATE_ARGUMENTS, "images": NAMES}
IMAGE_INFO_ARGUMENTS: dict[str, Any] = {
    **DIB_IMAGE_INFO_ARGUMENTS,
    "providers": NAMES,
    "ask_clouds": {"type": "bool", "default": True},
    "api_timeout": {"type": "float", "default": 10.0},
}


def dib_image_info(module: AnsibleModule) -> dict[str, Any]:
    """Return the builds, and which images are due for one."""
    view, aged = _view(module)
    _known(view, "image", module.params["images"], {*view.images, *view.config.diskimages})
    return _told(module, aged, "builds", builds_result(view, module.params["images"]), "images")


def image_info(module: AnsibleModule) -> dict[str, Any]:
    """Return the uploads, and which are due."""
    counts: dict[str, LaunchCounts] = {}
    view, aged = _view(module, counts)
    images, providers = module.params["images"], module.params["providers"]
    _known(view, "image", images, {*view.images, *view.config.diskimages})
    there = {upload.provider for state in view.images.values() for upload in state.uploads}
    _known(view, "provider", providers, {*view.config.providers, *there})
    seen = _seen(module, view, images, providers) if module.params["ask_clouds"] else {}
    return _told(module, aged, "uploads", images_result(view, images, providers, seen, counts), "images or providers")


def _told(module: AnsibleModule, aged: Aged | None, what: str, result: dict[str, Any], options: str) -> dict[str, Any]:
    """Warn when rows are left out; add the age of what is shown."""
    if result["left_out"]:
        shown = len(result[what])
        module.warn(
            f"{result['left_out']} {what} are left out, the {shown} newest are shown: choose some with {options}"
        )
    return with_age(module, aged, result)


def _seen(module: AnsibleModule, view: ImagesView, images: list[str], providers: list[str]) -> SeenImages:
    """Return the images in the clouds; a cloud that could not be asked becomes a warning."""
    from ..cycles.by_hand.image_status import images_seen  # loads the client of clouds

    uploads = [
        upload
        for state in view.images.values()
        for upload in state.uploads
        if (not images or upload.image in images) and (not providers or upload.provider in providers)
    ]
    seen, problems = images_seen(options_of(ConfigOptions, module.params), view.config, uploads)
    for name, why in problems.items():
        if name in view.provider_formats:  # else the reason was told with the format
            module.warn(f"the images at provider {name} could not be checked: {why}")
    return seen


def _view(module: AnsibleModule, counts: dict[str, LaunchCounts] | None = None) -> tuple[ImagesView, Aged | None]:
    """Return the images, and how old that state is: None when it was read from ZooKeeper just now.

    :param counts: is filled with the figures of launches by provider.
    """
    config = load(module)
    formats, problems = provider_formats(config, module.params["clouds_config"])
    for warning in of_providers(problems):
        module.warn(warning)
    files, builder_id = _disk(module, config)
    with closing(Store(config.zookeeper)) as store:
        aged = None
        try:
            store.open(watch=False, roots=(*ROOTS, LAUNCHES), locks=())
        except StoreUnreachable as problem:
            tree, aged = last_state(config, problem)
            store.show(tree)
        warn_of_other_drivers(module, config, store.components.pools())
        view = view_images(store, config, now=time.time(), provider_formats=formats, files=files, builder_id=builder_id)
        if counts is not None:
            for name in store.own.children(LAUNCH_COUNTS):
                known = store.own.understood(f"{LAUNCH_COUNTS}/{name}", LaunchCounts.from_document)
                counts |= {name: known} if known is not None else {}
    # A directory without an id belongs to no builder of this host, unless ZooKeeper shows that it has lost its id.
    return (view if builder_id or view.former else replace(view, files=None)), aged


def _disk(module: AnsibleModule, config: NodepoolConfig) -> tuple[list[Any] | None, str]:
    """Return the files and the builder id; (None, "") when there is no images-dir, or it cannot be read."""
    if config.images_dir is None:
        return None, ""
    directory = ImagesDir(config.images_dir)
    try:
        return local_files(directory), directory.builder_id(create=False)
    except ImageFileError as problem:
        module.warn(str(problem))
        return None, ""


def _known(view: ImagesView, kind: str, asked: list[str], there: set[str]) -> None:
    unknown = sorted(set(asked) - there)
    if unknown:
        have = ", ".join(sorted(there)) or "none"
        where = f"neither {view.config.path} nor ZooKeeper has such {kind}s"
        raise UnknownName([f"{kind}s names {', '.join(unknown)}, but {where}; there are {have}"])
