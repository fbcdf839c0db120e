# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real uploads cycle of a builder in a world on virtual time: it dies before or after any write, call or playbook.

Only three things are stood in for: glance, the playbook of the gate, and the threads, which are fibers here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, TypeVar
from unittest import mock

from kazoo.protocol.serialization import GetChildren, GetData

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.playbook_run import PlaybookEnd
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.context.builder_options import (
    UploadOptions,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads import (
    gate_run,
    upload_context,
    upload_cycle,
    upload_workers,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.upload_context import (
    UploadContext,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.upload_cycle import UploadsCycle
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.config_watch import ConfigWatch
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.cycle_options import DEADLINE
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.stop import Stop
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Image, ImageSpec
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import NodepoolConfig, Provider
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudImageBroken
from ansible_collections.stackci.nodepool.plugins.module_utils.model.gate import CANARY
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Build, BuildState, Upload
from tests.support.virtual_client import VirtualClient
from tests.support.virtual_time import Fiber, Killed, VirtualInbox
from tests.support.world import World

IMAGE = "built"
FORMAT = "qcow2"
PLAY = 8.0
"""Seconds that the playbook takes."""
SENT = 3.0
"""Seconds until glance has all bytes of an image."""
CHANGING = ("POST ", "PUT ", "DELETE ")

T = TypeVar("T")
Choose = Callable[[str], bool]
"""Takes the description of a point, and tells whether the builder dies there."""


class VirtualGlance:
    """Stands in for CloudImages: an image is made, filled, found by its marks and deleted."""

    uses_tasks = False

    def __init__(self, client: BuilderClient) -> None:
        self._client = client
        self._images = client.cloud.own_images

    def offers_tasks(self) -> bool:
        """It has no object store."""
        return False

    def create(self, spec: ImageSpec) -> str:
        """An empty image."""
        image_id = f"image-{self._client.cloud.random.getrandbits(64):016x}"

        def make() -> str:
            self._images[image_id] = Image(image_id, spec.name, "queued", dict(spec.properties))
            return image_id

        return self._client._call("POST /images", make, changes=True)

    def fill(self, image_id: str, file: Any, deadline: float) -> Image:
        """All bytes, and then it is active."""

        def take() -> Image:
            known = self._images.get(image_id)
            if known is None:
                raise CloudImageBroken(f"image {image_id} is gone", provider=self._client.provider)
            found = replace(known, status="active", size=file.size)
            self._images[image_id] = found
            return found

        return self._client._call("PUT /images/{id}/file", take, SENT, changes=True)

    def verify(self, image: Image, file: Any, known: Mapping[str, str], disk_format: str = "") -> list[str]:
        """The size is right."""
        return ["size"]

    def get(self, image_id: str) -> Image | None:
        """None when it is gone."""
        return self._client._call("GET /images/{id}", lambda: self._images.get(image_id))

    def find(self, marks: Mapping[str, str]) -> list[Image]:
        """The images with all of these properties."""

        def found() -> list[Image]:
            images = list(self._images.values())
            return [one for one in images if all(one.properties.get(key) == value for key, value in marks.items())]

        return self._client._call("GET /images", found)

    def delete(self, image_id: str) -> bool:
        """False when it was gone."""
        return self._client.delete_image(image_id)


class BuilderClient(VirtualClient):
    """The client of a builder: each call is a point."""

    def __init__(self, builder: VirtualBuilder, provider: Provider) -> None:
        world = builder.world
        self.cloud = world.clouds[provider.cloud]
        super().__init__(provider, self.cloud, world.faults[provider.cloud], timeout=world.api_timeout)
        self._builder = builder
        self.images = VirtualGlance(self)

    def abort_uploads(self) -> None:
        """Nothing is sent piece by piece."""

    def _call(self, kind: str, effect: Callable[[], T], *more: Any, **options: Any) -> T:
        def effective() -> T:
            result = effect()
            if kind.startswith(CHANGING):
                self._builder.point(f"after {kind}")
            return result

        if not self.dead:
            self._builder.point(f"before {kind}")
        return super()._call(kind, effective, *more, **options)


class BuilderOptions(UploadOptions):
    """Options of a cycle in a world; configuration and clients are the world's."""

    builder: VirtualBuilder

    def client(self, provider: Provider) -> Any:
        """A client of the provider's virtual cloud."""
        return self.builder.client(provider)

    def reload(self) -> NodepoolConfig:
        """The world's configuration."""
        return self.builder.config

    def stamps(self) -> dict[str, Any]:
        """Of nodepool.yaml."""
        return {"nodepool.yaml": (self.builder.world.written, 0, 0)}

    def cloud_stamps(self) -> dict[str, Any]:
        """Of clouds.yaml, which never changes."""
        return {"clouds.yaml": (0, 0, 0)}


class VirtualBuilder:
    """One cycle that stays.

    :param folder: images-dir.
    :param judge: what the playbook finds on a node: takes its kind and the build of the node.
    :param choose: asked at each point: the builder dies there when it returns True.
    :ivar points: how many there were.
    :ivar died: the point at which it was killed.
    """

    _present: ClassVar[dict[Fiber, VirtualBuilder]] = {}

    def __init__(
        self,
        world: World,
        folder: Path,
        judge: Callable[[str, str], PlaybookEnd],
        choose: Choose = lambda what: False,
    ) -> None:
        self.world, self.folder, self.judge, self.choose = world, folder, judge, choose
        self.points, self.died = 0, ""
        self.lines: list[str] = []
        self.clients: list[BuilderClient] = []
        self.inbox: VirtualInbox | None = None
        self.fibers: list[Fiber] = []
        self.store = world.keeper.store()
        self.store.session.before = lambda request: self._write("before", request)
        self.store.session.after = lambda request: self._write("after", request)
        self.fiber = self.begin(self._run)

    @property
    def config(self) -> NodepoolConfig:
        """The world's configuration, with this builder's folder."""
        return replace(self.world.config, images_dir=str(self.folder), build_log_dir=str(self.folder / "logs"))

    @property
    def ended(self) -> bool:
        """True when it is over."""
        return self.fiber.ended

    def begin(self, work: Callable[[], Any]) -> Fiber:
        """Run something that dies with this builder."""
        fiber = Fiber(self.world.agenda, work)
        self._present[fiber] = self
        self.fibers.append(fiber)
        return fiber

    def client(self, provider: Provider) -> BuilderClient:
        """A new client."""
        made = BuilderClient(self, provider)
        self.clients.append(made)
        return made

    def kill(self) -> None:
        """kill -9, from outside."""
        self._end()
        current = self.world.agenda.current
        for fiber in self.fibers:
            if not fiber.ended and fiber is not current:
                fiber.kill()

    def point(self, what: str) -> None:
        """Something of it begins or has just happened."""
        if self.store.session.killed:
            return
        self.points += 1
        if self.choose(what):
            self.died = what
            self.kill()
            raise Killed

    def play(self, kind: str, build: str) -> PlaybookEnd:
        """What stands for the playbook."""
        self.point(f"before the playbook on a {kind}")
        self.world.agenda.sleep(PLAY)
        self.point(f"after the playbook on a {kind}")
        return self.judge(kind, build)

    def _end(self) -> None:
        session = self.store.session
        if not session.killed:
            session.kill()
            # The next cycle of this host ends the session of its dead predecessor.
            self.world.agenda.after(0.5, lambda: session.keeper.end_session(session.owner))
        if self.inbox is not None:
            self.inbox.closed = True
        for client in self.clients:
            client.dead = True

    def _write(self, moment: str, request: Any) -> None:
        if not isinstance(request, GetData | GetChildren):
            self.point(f"{moment} {type(request).__name__} {getattr(request, 'path', 'several znodes')}")

    def _run(self) -> None:
        try:
            options = BuilderOptions(config="nodepool.yaml", duration=1e9, until=DEADLINE)
            object.__setattr__(options, "builder", self)
            context = UploadContext(options, self.config, self.store)
            watch = ConfigWatch(options)
            watch.begin(self.config)
            cycle = UploadsCycle(context, watch, Stop(), self.lines.append, self.world.agenda.clock, None)
            resources = cycle._resources
            resources.steady, resources.sleeper = self.world.agenda.clock, self.world.agenda.sleep
            self.inbox = cycle._inbox  # type: ignore[assignment]
            cycle.run()
        except Killed:
            self._end()

    # -- what is stood in for ---------------------------------------------------------------------------------------

    @classmethod
    @contextmanager
    def installed(cls, world: World) -> Iterator[None]:
        """Have the threads and the playbook of all builders stood in for."""

        def thread(*, target: Callable[..., Any], args: tuple[Any, ...], **_more: Any) -> Any:
            owner = cls._present[world.agenda.current]  # type: ignore[index]
            return SimpleNamespace(start=lambda: owner.begin(lambda: target(*args)))

        def playbook(node: Any, kind: str, upload: Upload, *_more: Any) -> Any:
            owner = cls._present[world.agenda.current]  # type: ignore[index]
            build = node.image_id.split("/")[5]
            return SimpleNamespace(run=lambda _wanted: owner.play(kind, build))

        threads = SimpleNamespace(Thread=thread, Lock=threading.Lock)
        formats = dict.fromkeys(world.clouds, FORMAT)

        def formats_of(*_asked: Any) -> Any:
            return formats, {}

        def inbox(*_clock: Any) -> VirtualInbox:
            return VirtualInbox(world.agenda)

        with (
            mock.patch.object(upload_workers, "threading", threads),
            mock.patch.object(upload_cycle, "Inbox", inbox),
            mock.patch.object(upload_context, "provider_formats", formats_of),
            mock.patch.object(gate_run, "playbook_for", playbook),
        ):
            try:
                yield
            finally:
                cls._present.clear()


def built(world: World, folder: Path, build: str, builder_id: str, image: str = IMAGE) -> Build:
    """What diskimage-builder leaves: a record and a file."""
    (folder / f"{image}-{build}.{FORMAT}").write_bytes(b"an image")
    made = Build(image=image, id=build, builder="host", builder_id=builder_id, formats=[FORMAT])
    made.set_state(BuildState.READY, world.agenda.now)
    world.store.images.create_build(made)
    return made


def passes_unless(is_broken: Callable[[str], bool], passed: set[str]) -> Callable[[str, str], PlaybookEnd]:
    """What the playbook finds: a broken build fails. *passed* takes the builds that a canary has shown to be good."""

    def judge(kind: str, build: str) -> PlaybookEnd:
        if is_broken(build):
            return PlaybookEnd(False, "no DNS")
        if kind == CANARY:
            passed.add(build)
        return PlaybookEnd(True)

    return judge
