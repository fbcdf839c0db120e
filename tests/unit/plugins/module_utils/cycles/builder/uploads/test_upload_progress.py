# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far an upload is."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.upload_progress import (
    UploadProgress,
    bytes_text,
    rate_text,
)

MIB = 1 << 20


def told(seconds_per_percent: float, size: int = 100 * MIB) -> list[str]:
    lines: list[str] = []
    now = 0.0
    meter = UploadProgress(size, lines.append, lambda: now)
    for thousandth in range(1, 1001):
        now += seconds_per_percent / 10
        meter(size * thousandth // 1000)
    assert meter.sent == size
    return lines


def test_every_tenth_part_is_told() -> None:
    lines = told(1.0)
    assert [line.split()[0] for line in lines] == [str(percent) for percent in range(10, 100, 10)]
    assert lines[0] == "10 % of 100.0 MiB, 1.0 MiB/s"


def test_a_quick_one_is_not_told_and_a_slow_one_now_and_then() -> None:
    assert told(0.01) == []
    assert 95 <= len(told(30.0)) <= 100


def test_words() -> None:
    assert [bytes_text(count) for count in (0, 1023, 1024, 1536 * MIB, 2 << 40)] == [
        "0 bytes",
        "1023 bytes",
        "1.0 KiB",
        "1.5 GiB",
        "2.0 TiB",
    ]
    assert rate_text(10 * MIB, 0.0) == "9.8 GiB/s"
