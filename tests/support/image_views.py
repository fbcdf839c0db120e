# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Views of the world of images, made by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.due_builds import BuildCase, judge_build
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.files import recognise
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.image_snapshot import (
    ImageState,
    ImagesView,
    LocalFile,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import (
    Diskimage,
    NodepoolConfig,
    Provider,
    ProviderDiskimage,
    ZooKeeperServer,
    ZooKeeperSettings,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import (
    Build,
    BuildState,
    Upload,
    UploadState,
)

NOW = 1_000_000.0
US, THEM = "b-us", "b-them"
DAY = 86400


def judge_builds(seen: ImagesView) -> list[BuildCase]:
    """The case of every diskimage of the configuration, in its order."""
    return [judge_build(seen, name) for name in seen.config.diskimages]


def build_id(number: int) -> str:
    """The id of the *number*-th build."""
    return f"{number:032x}"


def config(
    images: Mapping[str, Mapping[str, Any]] | Iterable[str] = ("debian",),
    providers: Mapping[str, Iterable[str]] | None = None,
    *,
    paused: Iterable[tuple[str, str]] = (),
    **values: Any,
) -> NodepoolConfig:
    """A configuration.

    :param images: name → attributes of the diskimage.
    :param providers: name → the images that it lists; cloud1 with all of them when left out.
    :param paused: (provider, image) that are paused there.
    """
    attributes = images if isinstance(images, Mapping) else {name: {} for name in images}
    listed = providers if providers is not None else {"cloud1": list(attributes)}
    stopped = set(paused)
    return NodepoolConfig(
        path="nodepool.yaml",
        zookeeper=ZooKeeperSettings((ZooKeeperServer("memory"),)),
        diskimages={name: Diskimage(name=name, **given) for name, given in attributes.items()},
        providers={
            name: Provider(
                name=name,
                cloud=name,
                diskimages={
                    image: ProviderDiskimage(name=image, pause=(name, image) in stopped) for image in their_images
                },
            )
            for name, their_images in listed.items()
        },
        **values,
    )


def build(
    number: int, state: str = BuildState.READY, *, age: float = 0.0, image: str = "debian", **values: Any
) -> Build:
    """The *number*-th build; *age* in seconds."""
    given = {"builder": "us.example.org", "builder_id": US, "formats": ["qcow2"], "born": number, **values}
    return Build(id=build_id(number), image=image, state=state, state_time=NOW - age, **given)


def upload(
    number: int,
    provider: str = "cloud1",
    state: str = UploadState.READY,
    *,
    age: float = 0.0,
    image: str = "debian",
    serial: int = 1,
    **values: Any,
) -> Upload:
    """An upload of the *number*-th build."""
    made = Upload(
        id=f"{serial:010d}",
        image=image,
        build_id=build_id(number),
        provider=provider,
        state=state,
        state_time=NOW - age,
        external_id=f"{provider}-{number}-{serial}" if state == UploadState.READY else None,
        **values,
    )
    made.path = f"/nodepool/images/{image}/builds/{made.build_id}/providers/{provider}/images/{made.id}"
    return made


def files(number: int, *formats: str, image: str = "debian", age: float = 3600.0) -> list[LocalFile]:
    """Everything that a build leaves in images-dir."""
    base = f"{image}-{build_id(number)}"
    names = [f"{base}.d", *(f"{base}.{name}{kind}" for name in formats for kind in ("", ".md5", ".sha256"))]
    found = [recognise(name, is_directory=name.endswith(".d"), size=512, modified=NOW - age) for name in names]
    return [file for file in found if file is not None]


def view(
    configuration: NodepoolConfig | None = None,
    *states: ImageState,
    formats: Mapping[str, str] | None = None,
    **values: Any,
) -> ImagesView:
    """A view in which every provider takes qcow2 unless *formats* (which then has all that is known) says otherwise.

    All our ready builds have their files, unless *files* says what is there.
    """
    known = configuration or config()
    on_disk = [
        file
        for state in states
        for made in state.builds
        if made.state == BuildState.READY and made.builder_id == US
        for file in files(int(made.id, 16), *made.formats, image=made.image)
    ]
    given = {"now": NOW, "builder_id": US, "files": on_disk, **values}
    return ImagesView(
        config=known,
        images={state.name: state for state in states},
        provider_formats=dict.fromkeys(known.providers, "qcow2") if formats is None else formats,
        **given,
    )


def later(seen: ImagesView, seconds: float) -> ImagesView:
    """The same world, some time later."""
    return replace(seen, now=seen.now + seconds)
