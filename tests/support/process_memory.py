# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much a process grows."""

from __future__ import annotations

from pathlib import Path


class Memory:
    """From now on; the peak counts, whenever it was."""

    def __init__(self, pid: int) -> None:
        self._folder = Path(f"/proc/{pid}")
        self._began = self._kilobytes("VmRSS")
        (self._folder / "clear_refs").write_text("5")  # the peak begins anew

    def growth(self) -> int:
        """Bytes from the beginning to the peak since then."""
        return (self._kilobytes("VmHWM") - self._began) * 1024

    def _kilobytes(self, name: str) -> int:
        for line in (self._folder / "status").read_text(encoding="ascii").splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1])
        raise AssertionError(f"{self._folder}/status has no {name}")
