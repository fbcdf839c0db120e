# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds without a record in ZooKeeper, for operators who test their elements."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from ....clients.diskimage_builder.isolation import (
    Isolation,
    find_isolation,
)
from ....clients.diskimage_builder.logs import make_folder
from ....imaging.command import QCOW2
from ....model.config.types import NodepoolConfig
from ....model.errors import ConfigError, ImageFileError
from ....model.lines import Line, Subject
from ...frame.stop import SERVING, Stop
from ..context.builder_options import BuildOptions, unknown_images
from ..context.observe_images import provider_formats
from .build import Report
from .clearing import clear_machine
from .image_builder import FAILED, ImageBuilder, Job

BY_HAND = "requested, without a record"


def build_apart(
    options: BuildOptions,
    output_dir: str,
    *,
    formats: tuple[str, ...] = (),
    progress: Callable[[str], None] = lambda line: None,
    stop: Stop | None = None,
    clock: Callable[[], float] = time.monotonic,
    isolation: Isolation | None = None,
) -> dict[str, Any]:
    """Build the named images into *output_dir*, with their logs; change nothing else.

    :param formats: the formats to make; empty for those of the image and its providers, or qcow2 if these name none.
    """
    config = load_apart(options)
    began, wish, output_dir = clock(), stop or Stop(), os.path.abspath(output_dir)
    if config.images_dir and os.path.realpath(output_dir) == os.path.realpath(config.images_dir):
        raise ConfigError(
            [
                (
                    f"output_dir {output_dir} is images-dir, where files without a record are removed: choose another"
                    f" directory"
                )
            ]
        )
    make_folder(output_dir, "output_dir")
    apart = isolation or find_isolation()
    over = threading.Event()
    wish.tell(over.set)

    def rest(seconds: float) -> None:
        over.wait(seconds)
        wish.beat(SERVING)

    room = options.first_build_room << 20
    image_builder = ImageBuilder(apart, say=progress, watch=lambda: wish.reason, pause=rest, first_room=room)
    cleared = clear_machine(None, output_dir, progress)
    wanted = formats_apart(options, config, formats)
    reports = []
    for name in options.chosen(config):
        if wish.reason is not None:
            break
        reports.append(_build(image_builder, config, name, wanted[name], output_dir, options, wish))
    return {
        "changed": bool(reports or cleared),
        "ended": wish.reason or "done",
        "seconds": round(clock() - began, 3),
        "builds": [report.result() for report in reports],
        "cleared": cleared,
        "isolation": {"level": apart.level, "why_not": apart.why_not},
        "warnings": list(config.warnings),
    }


def preview_apart(options: BuildOptions, output_dir: str, formats: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the result of check mode: what :func:`build_apart` would build."""
    config = load_apart(options)
    checker = ImageBuilder(Isolation(), first_room=options.first_build_room << 20)
    lines, problems = [], []
    for name, chosen in formats_apart(options, config, formats).items():
        job = Job.of(config, name, chosen, "0" * 32, convert_vhd=options.convert_vhd, output_dir=output_dir)
        problem = checker.problem(job)
        problems += [f"{name}: {problem}"] if problem else []
        lines.append(f"image {name}: " + (f"leave, {problem}" if problem else f"build {', '.join(chosen)}, requested"))
    return {
        "changed": len(problems) < len(lines),
        "ended": "check",
        "diff": {"before": "", "after": "".join(f"{line}\n" for line in lines), "after_header": "builder plan"},
        "warnings": [*config.warnings, *problems],
    }


def load_apart(options: BuildOptions) -> NodepoolConfig:
    """Read the configuration for builds without a record.

    :raises ConfigError: with all problems.
    """
    if not options.images:
        raise ConfigError(["record: no image is named: set image_names to build without a record"])
    config = options.reload()
    problems = unknown_images(config, options.images)
    if problems:
        raise ConfigError(problems)
    return config


def formats_apart(
    options: BuildOptions, config: NodepoolConfig, formats: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """Return image → formats to make."""
    of_clouds, _problems = provider_formats(config, options.clouds_config)
    wanted = {}
    for name in options.chosen(config):
        users = {of_clouds[key] for key in of_clouds if name in config.providers[key].diskimages}
        wanted[name] = tuple(sorted(set(formats) or {*config.diskimages[name].formats, *users} or {QCOW2}))
    return wanted


def _build(
    image_builder: ImageBuilder,
    config: NodepoolConfig,
    name: str,
    formats: tuple[str, ...],
    output_dir: str,
    options: BuildOptions,
    wish: Stop,
) -> Report:
    job = Job.of(config, name, formats, uuid.uuid4().hex, convert_vhd=options.convert_vhd, output_dir=output_dir)
    try:
        image_builder.prepare(job)
    except (ConfigError, ImageFileError) as problem:
        error = str(problem)
        return Report(image=name, build_id=job.build_id, state=FAILED, reason=BY_HAND, log=job.log, error=error)
    about = Subject(image=name, build=job.build_id)
    image_builder.say(Line(f"{name}: building {job.build_id} ({', '.join(formats)}) into {output_dir}", **about))
    report = Report.of(job, BY_HAND, image_builder.make(job), wish)
    image_builder.say(Line(f"{name}: build {job.build_id} {report.state} {report.error}".rstrip(), **about))
    return report
