# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Completion in bash, zsh and fish. Each shell calls the command with the words so far and gets the candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .commands import BY_NAME, COMMANDS
from .parser import COMPLETE, CONNECTION, ENVIRONMENT, OUTPUTS, PROGRAM, SHELLS
from .shapes import Command, Option

SCRIPTS = {
    "bash": """\
_{program}() {{
    local IFS=$'\\n'
    COMPREPLY=($(compgen -W "$("${{COMP_WORDS[0]}}" {complete} "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null)" -- "$2"))
}}
complete -o default -F _{program} {program}""",
    "zsh": """\
#compdef {program}
_{program}() {{
    local -a found
    found=(${{(f)"$("${{words[1]}}" {complete} "${{(@)words[2,CURRENT]}}" 2>/dev/null)"}})
    if (( $#found )); then compadd -a found; else _files; fi
}}
compdef _{program} {program}""",
    "fish": """\
function __{program}
    set -l words (commandline -opc) (commandline -ct)
    $words[1] {complete} $words[2..-1] 2>/dev/null
end
complete -c {program} -a '(__{program})'""",
}
_OUTPUT = ("-o", "--output")
COMMON = ("-c", "--config", "-s", "--secure-config", "--settings", "--clouds-config", *_OUTPUT)
"""Options of every verb that take a value."""
LISTS = {
    "node": ("list", "nodes", "id"),
    "lease": ("leases", "leases", "name"),
    "request": ("requests", "requests", "id"),
}
"""What a positional argument names → the verb that lists it, the rows of its result, and the key of a name."""


def script(shell: str) -> str:
    """Return the completion script of a shell."""
    return SCRIPTS[shell].format(program=PROGRAM, complete=COMPLETE)


def candidates(words: Sequence[str], names: Callable[[str, dict[str, Any]], list[str]] | None = None) -> list[str]:
    """Return what the last of *words* can become.

    :param words: the words after the name of the command; the last one is being typed and may be empty.
    :param names: returns the names of a kind, given the connection's options.
    """
    *rest, typed = words or [""]
    places, waiting = _parsed(rest, ())
    verb = next((word for word in places if word in BY_NAME or word == "completion"), None)
    command = BY_NAME.get(verb or "")
    if command is not None:
        places, waiting = _parsed(rest, command.options)
    if waiting:
        found = list(OUTPUTS) if waiting in _OUTPUT else []
    elif verb is None:
        found = [*(command.name for command in COMMANDS), "completion"]
        if not any(name.startswith(typed) for name in found):
            found = list(BY_NAME)  # Nodepool's names, for those who know them
    elif command is None:
        found = list(SHELLS)
    elif typed.startswith("-"):
        found = _flags(command)
    else:
        given = places[1:]
        kind = _kind(command, len(given))
        found = (names or _names)(kind, _connection(rest)) if kind else []
        found = [name for name in found if name not in given]
    return [word for word in found if word.startswith(typed)]


def _flags(command: Command) -> list[str]:
    own = [flag for option in command.options for flag in option.flags if flag.startswith("--")]
    common = [flag for option in CONNECTION for flag in option.flags if flag.startswith("--")]
    return [*own, *common, "--output", "--quiet", "--help"]


def _parsed(words: Sequence[str], options: Sequence[Option]) -> tuple[list[str], str]:
    """Return the words that are neither options nor their values, and the option whose value comes next, or ""."""
    valued = {*COMMON}
    for option in options:
        if not str(option.keywords.get("action", "")).startswith("store_"):
            valued.update(option.flags)
    found, waiting = [], ""
    for word in words:
        if waiting or word.startswith("-"):
            waiting = word if not waiting and word in valued else ""
        else:
            found.append(word)
    return found, waiting


def _kind(command: Command, place: int) -> str:
    """Return what the positional argument with this number names; "" when that is not known."""
    for option in command.options:
        if option.flags:
            continue
        if place == 0 or option.keywords.get("nargs") in ("+", "*"):
            return option.completes
        place -= 1
    return ""


def _connection(words: Sequence[str]) -> dict[str, Any]:
    """Return the connection's options among the words."""
    found = {}
    for option in CONNECTION:
        for flag in option.flags:
            if not option.keywords and flag in words[:-1]:
                found[option.name] = words[words.index(flag) + 1]
    return found


def _names(kind: str, connection: dict[str, Any]) -> list[str]:
    """Return the names of a kind in the tree; none when they cannot be read."""
    import os

    from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import NodepoolError

    from .calling import call

    for name, variable in ENVIRONMENT.items():
        if os.environ.get(variable):
            connection.setdefault(name, os.environ[variable])
    verb, rows, key = LISTS.get(kind, ("builds", "images", "image"))
    work = BY_NAME[verb].work
    if work is None:
        return []
    try:
        result = call(work, {**connection, "require_launcher": False}, lambda _text: None)
    except NodepoolError:
        return []
    return [row[key] for row in result[rows] if isinstance(row.get(key), str)]
