# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The arguments of the command, from the table of verbs. Only the standard library is loaded here."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from .commands import COMMANDS
from .own_version import own_version
from .shapes import Command, Option

PROGRAM = "nodepoolctl"
OUTPUTS = TABLE, JSON, ID = "table", "json", "id"
SHELLS = ("bash", "zsh", "fish")
SSH = "ssh"
SSH_FAILED = 255
"""As ssh: what else could be told from the exit status of the command on the node?"""
COMPLETE = "__complete"
"""The verb that the completion scripts call."""

_JSON_OUTPUT = re.compile(r"(?:^| )(?:-o ?|--output[ =])json(?: |$)")

ENVIRONMENT = {
    "config": "NODEPOOL_CONFIG",
    "secure_config": "NODEPOOL_SECURE_CONFIG",
    "identity": "NODEPOOL_SSH_KEY",
    "private_key": "NODEPOOL_SSH_KEY",
}
"""Option → the environment variable that is its default."""

CONNECTION = (
    Option("config", ("-c", "--config"), "path of nodepool.yaml ($NODEPOOL_CONFIG, /etc/nodepool/nodepool.yaml)"),
    Option("secure_config", ("-s", "--secure-config"), "path of secure.conf ($NODEPOOL_SECURE_CONFIG)"),
    Option("settings", ("--settings",), "path of nodepool-settings.yaml (the one beside nodepool.yaml)"),
    Option("clouds_config", ("--clouds-config",), "path of clouds.yaml (openstacksdk's search path)"),
    Option("strict_config", ("--strict-config",), "unknown keys in nodepool.yaml are errors", {"action": "store_true"}),
)
EXIT_CODES = """\
exit status:
  0  done
  1  failed
  2  wrong arguments, or the configuration cannot be used
  3  no such node, request, lease, provider, pool, label or image
  4  not done within --timeout
  5  ZooKeeper or a cloud cannot be reached: try again later
  ssh: that of the command on the node, or 255 for all other failures
  128+N  ended by signal N (130: Ctrl-C)
"""


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Return the arguments; options that are not given are missing in it.

    :raises SystemExit: for wrong arguments with status 2, and for ``--help`` and ``--version``.
    """
    parser = make_parser()
    try:
        given = parser.parse_args(words)
        if given.verb == SSH:
            _take_node(parser.verbs.choices[SSH], given)
    except _WrongArguments as wrong:
        if _wants_json(words):
            print(json.dumps({"msg": wrong.message, "error_kind": "ConfigError"}, indent=2))
        wrong.parser.print_usage(sys.stderr)
        # With ssh every status but 255 may be that of the command on the node.
        status = SSH_FAILED if wrong.parser.prog == f"{PROGRAM} {SSH}" else 2
        wrong.parser.exit(status, f"{wrong.parser.prog}: {wrong.message}\n")
    if given.verb is None:
        parser.print_help(sys.stderr)
        parser.exit(2)
    for name, variable in ENVIRONMENT.items():
        if not hasattr(given, name) and os.environ.get(variable):
            setattr(given, name, os.environ[variable])
    return given


def _take_node(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """Take the node, and our options that follow it, out of the words of ``ssh``.

    As for ssh itself, options end at the first word of the command, or at ``--``. argparse alone would leave all that
    follows the node to the command, and would lose the ``--``.

    :param parser: that of the verb.
    """
    if given.command[:1] == ["--"]:
        given.command = given.command[1:]
    if not given.command:
        parser.error("name a node or a lease")
    given.target, *rest = given.command
    given.command = rest
    if rest[:1] != ["--"]:
        parser.parse_args(rest, given)
    if given.command[:1] == ["--"]:
        given.command = given.command[1:]


class _WrongArguments(Exception):
    """The arguments cannot be understood. *parser* is that of the verb."""

    def __init__(self, parser: argparse.ArgumentParser, message: str) -> None:
        self.parser, self.message = parser, message
        super().__init__(message)


class _Parser(argparse.ArgumentParser):
    verbs: Any = None

    def error(self, message: str) -> NoReturn:
        raise _WrongArguments(self, message)


class _ShowVersion(argparse.Action):
    """As argparse's own action, but the file with the version is read for this option only."""

    def __call__(self, parser: argparse.ArgumentParser, *_given: Any) -> None:
        print(f"{PROGRAM} {own_version()} (collection stackci.nodepool, Python {platform.python_version()})")
        parser.exit()


def _wants_json(words: Sequence[str]) -> bool:
    return _JSON_OUTPUT.search(" ".join(words)) is not None


def make_parser() -> _Parser:
    """Return the parser with all verbs."""
    parser = _Parser(
        prog=PROGRAM,
        description="Lease test nodes, look at them, and act on them.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    _add_common(parser)
    parser.add_argument("--version", action=_ShowVersion, nargs=0, help="show the version of the collection and exit")
    verbs = parser.add_subparsers(metavar="VERB", title="verbs", dest="verb", required=False)
    parser.verbs = verbs
    for command in COMMANDS:
        _add_command(verbs, command)
    completion = verbs.add_parser("completion", help="print the completion script for a shell", allow_abbrev=False)
    completion.add_argument("shell", choices=SHELLS)
    return parser


def _add_common(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("connection and output")
    for option in CONNECTION:
        metavar = {} if option.keywords else {"metavar": "FILE"}
        _add(group, option, **metavar)
    group.add_argument(
        "-o",
        "--output",
        choices=OUTPUTS,
        help="table (default), json: what the module returns, id: one per line",
    )
    group.add_argument("-q", "--quiet", action="store_true", help="no progress on standard error")


def _add_command(verbs: Any, command: Command) -> None:
    examples = "\n".join(f"  {PROGRAM} {line}" for line in command.examples)
    parser = verbs.add_parser(
        command.name,
        aliases=command.aliases,
        help=command.help,
        description=command.description or f"{command.help[0].upper()}{command.help[1:]}.",
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    for option in command.options:
        if command.name != SSH or option.flags:
            _add(parser, option)
    if command.name == SSH:
        parser.usage = f"{PROGRAM} {SSH} [OPTIONS] ID [OPTIONS] [--] [COMMAND]"
        words = "id of a node, or name of a lease; then the command, or nothing for a shell"
        parser.add_argument("command", nargs=argparse.REMAINDER, metavar="ID", help=words)
    _add_common(parser)


def _add(parser: Any, option: Option, **more: Any) -> None:
    keywords = {**option.keywords, **more, "help": option.help}
    if option.flags:
        parser.add_argument(*option.flags, dest=option.name, **keywords, default=argparse.SUPPRESS)
    else:
        parser.add_argument(option.name, **keywords)
