# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A large file is never in memory. The bench does it with 10 GiB."""

from __future__ import annotations

from tests.support.fixtures_zookeeper import eventually
from tests.support.image_case import MEGABYTE, Builder
from tests.support.image_process import UploadProcess
from tests.support.process_memory import Memory

SIZE = 400 * MEGABYTE
MOST = 20 * MEGABYTE


def test_memory_stays_flat(builder: Builder) -> None:
    builder.configure()
    builder.build()
    with UploadProcess(builder, until="deadline") as process:
        eventually(lambda: builder.states() == ["ready"], 40)
        memory = Memory(process.pid)
        # Without checksums beside it: they are computed, and glance's are compared with them.
        builder.build(sparse=SIZE)
        eventually(lambda: builder.states()[-1:] == ["ready"] and len(builder.uploads()) == 2, 60)
        assert memory.growth() < MOST
    newest = builder.uploads()[-1]
    assert builder.in_cloud()[newest.external_id]["size"] == SIZE
