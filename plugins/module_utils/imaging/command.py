# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The arguments and the environment of diskimage-builder, the same as in Nodepool's builder."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..clients.diskimage_builder.processes import MARK
from ..clients.diskimage_builder.scratch import TEMPORARY
from ..model.config.types import Diskimage
from ..model.errors import ConfigError
from .files import base_name

QCOW2, RAW, VHD = "qcow2", "raw", "vhd"
PACKAGE_DIRECTORY = "%p"


@dataclass(frozen=True)
class Command:
    """A call of diskimage-builder.

    *argv*: program and arguments. *environment*: the whole environment; it may hold secrets, so ``repr`` omits it.
    *temporary*: the directory for its temporary files; the caller makes it before the call and removes it afterwards.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    temporary: str

    def __repr__(self) -> str:
        return f"Command({shlex.join(self.argv)})"


@dataclass(frozen=True)
class Formats:
    """How each format is made.

    *made*: formats that diskimage-builder makes. *converted*: (source, target) formats that the builder converts
    afterwards. *surplus*: formats that are made only for a conversion and removed after it.
    """

    made: tuple[str, ...]
    converted: tuple[tuple[str, str], ...] = ()
    surplus: tuple[str, ...] = ()


def divide(wanted: Iterable[str], *, convert_vhd: bool) -> Formats:
    """Divide the formats between diskimage-builder and a conversion afterwards.

    :param convert_vhd: True: the builder converts vhd afterwards; diskimage-builder would need vhd-util for it.
    """
    formats = sorted(set(wanted))
    if not convert_vhd or VHD not in formats:
        return Formats(tuple(formats))
    made = [name for name in formats if name != VHD]
    source = next((name for name in (RAW, QCOW2) if name in made), None)
    if source is not None:
        return Formats(tuple(made), ((source, VHD),))
    return Formats(tuple(sorted([*made, RAW])), ((RAW, VHD),), (RAW,))


def command(
    image: Diskimage,
    build_id: str,
    formats: Iterable[str],
    *,
    images_dir: str,
    elements_dir: str | None,
    environment: Mapping[str, str],
    nonce: str,
) -> Command:
    """Return the call that makes *formats* of *image*.

    :param formats: the formats that diskimage-builder makes (:attr:`Formats.made`).
    :param environment: the builder's own environment.
    :param nonce: 32 random hex digits, so that no other user can make the temporary directory first.
    :raises ConfigError: when ``dib-cmd`` cannot be split into words, is empty, or names Nodepool's package.
    """
    names = sorted(set(formats))
    output = f"{images_dir.rstrip('/')}/{base_name(image.name, build_id)}"
    argv = [*_program(image), "-x", "-t", ",".join(names), "--checksum", "--no-tmpfs"]
    if QCOW2 in names:
        argv += ["--qemu-img-options", "compat=0.10"]
    argv += ["-o", output, *image.elements]
    variables = {
        **environment,
        "DIB_RELEASE": image.release,
        "DIB_IMAGE_NAME": image.name,
        "DIB_IMAGE_FILENAME": output,
        **({"ELEMENTS_PATH": elements_dir} if elements_dir else {}),
        **image.env_vars,
    }
    # A separate directory below the one that the operator chose: the builder may remove everything in it.
    # diskimage-builder reads both variables, TMPDIR first.
    chosen = variables.get("TMPDIR") or variables.get("TMP_DIR") or images_dir
    own = TEMPORARY if chosen == images_dir else f"{TEMPORARY}-{nonce}"
    temporary = f"{chosen.rstrip('/')}/{own}/{build_id}"
    variables.update({"TMP_DIR": temporary, "TMPDIR": temporary, MARK: build_id})
    return Command(tuple(argv), variables, temporary)


def _program(image: Diskimage) -> list[str]:
    where = f"diskimages[{image.name}]: dib-cmd {image.dib_cmd!r}"
    if PACKAGE_DIRECTORY in image.dib_cmd:
        raise ConfigError(
            [f"{where} uses %p for the directory of Nodepool's package, which may not exist here: write the path"]
        )
    try:
        words = shlex.split(image.dib_cmd)
    except ValueError as problem:
        raise ConfigError([f"{where} cannot be split into words ({problem}): correct the quotes"]) from problem
    if not words:
        raise ConfigError([f"{where} is empty: write the program to run, or remove dib-cmd"])
    return words
