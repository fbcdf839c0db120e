# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The preview of a builds cycle for check mode. It only reads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

from ....clients.diskimage_builder.images_dir import ImagesDir
from ....clients.diskimage_builder.isolation import Isolation
from ....clients.diskimage_builder.scratch import Leftover, leftovers
from ....clients.zookeeper.link import paths
from ....clients.zookeeper.store import Store
from ....imaging.due_builds import BuildCase, judge_build
from ....imaging.image_snapshot import ImagesView
from ....imaging.retention import abandoned_builds
from ....model.image import Build
from ...frame.config_source import config_by_hand
from ...frame.config_warnings import config_warnings
from ...frame.provider_reach import reach_document, unreached
from ...frame.tree_identity import site_of
from ..context.builder_options import BuildOptions
from ..context.image_files import check_files
from ..context.observe_images import look_at_images, provider_formats
from .build_cycle import case_document, forced
from .image_builder import ImageBuilder, Job

CANNOT_BEGIN = "cannot-begin"
"""The code of a due image whose build would fail before it begins, for example for lack of room."""


def preview_builds(options: BuildOptions, *, clock: Callable[[], float] = time.time) -> dict[str, Any]:
    """Return the result of check mode: what would be built and why, in documents and in lines for ``--diff``."""
    config = config_by_hand(options, check=True)
    with closing(Store(config.zookeeper)) as store:
        store.open(watch=False, roots=paths.IMAGE_ROOTS, locks=())
        check_files(ImagesDir(config.images_dir or ""), store, site_of(store, create=False), write=False)
        formats, problems = provider_formats(config, options.clouds_config)
        view = look_at_images(store, config, ImagesDir(config.images_dir or ""), formats, clock())
        left = leftovers(config.images_dir or "")
        warnings = config_warnings(config, store)
    # A build calls no cloud; the image format that it needs is in clouds.yaml.
    providers = {name: reach_document(problems.get(name)) for name in sorted({*formats, *problems})}
    cases = [forced(judge_build(view, name), options.force) for name in options.chosen(config)]
    cases = [_possible(case, options, view) if case.due else case for case in cases]
    abandoned = abandoned_builds(view)
    lines = list(_lines(cases, abandoned, left))
    return {
        "changed": any(case.due for case in cases) or bool(abandoned or left),
        "ended": "check",
        "plan": {
            "build": [case_document(case) for case in cases if case.due],
            "wait": [case_document(case) for case in cases if not case.due],
            "abandoned": [build.id for build in abandoned],
            "remains": [leftover.build_id for leftover in left],
        },
        "providers": providers,
        "unusable": unreached(providers),
        "left_out": problems,
        "diff": {"before": "", "after": "".join(f"{line}\n" for line in lines), "after_header": "builder plan"},
        "warnings": [
            *warnings,
            *(f"{case.image}: {case.reason}" for case in cases if case.code == CANNOT_BEGIN),
        ],
    }


def _possible(case: BuildCase, options: BuildOptions, view: ImagesView) -> BuildCase:
    """Return the case; not due if a build would fail before it begins, for example for lack of room."""
    notes = view.image(case.image).notes
    job = Job.of(view.config, case.image, case.formats, "0" * 32, convert_vhd=options.convert_vhd, notes=notes)
    problem = ImageBuilder(Isolation(), first_room=options.first_build_room << 20).problem(job)
    return replace(case, due=False, code=CANNOT_BEGIN, reason=problem) if problem else case


def _lines(cases: list[BuildCase], abandoned: list[Build], left: list[Leftover]) -> Iterator[str]:
    for leftover in left:
        yield f"build {leftover.build_id}: remove what it left on this machine; its builder was killed"
    for build in abandoned:
        yield f"build {build.id}: mark as failed; no builder is working on it"
    for case in cases:
        verb = f"build {', '.join(case.formats)}" if case.due else "leave"
        yield f"image {case.image}: {verb}, {case.reason}"
