# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m ansible_collections.stackci.nodepool.plugins.plugin_utils.webapp``: the web service for systemd.

Exit codes: 0 when a signal ended the service; 75 when its address cannot be used now; 78 when the configuration cannot
be used or a library is missing. A unit should not restart the service after 78.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.state_folder import default_folder
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.stop import Stop
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import NodepoolError
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lines import Trouble
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.control import Control
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.malloc_options import set_malloc_options
from ansible_collections.stackci.nodepool.plugins.module_utils.web.libraries import require_libraries
from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.application import Visitors, prefix_of
from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.listening import AddressError, Listening
from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.service import WebOptions, serve
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.log import INFO, WARNING, write
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.notify import Notifier

TRY_LATER, CONFIG = 75, 78


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until a signal ends it."""
    parser = argparse.ArgumentParser(prog="nodepool-webapp", description="Serves the state of a tree over HTTP.")
    parser.add_argument("--config", default="/etc/nodepool/nodepool.yaml", help="path of nodepool.yaml")
    parser.add_argument("--secure-config", help="path of secure.conf")
    parser.add_argument("--settings", help="path of nodepool-settings.yaml, if it is not beside nodepool.yaml")
    parser.add_argument("--listen-address", help="replaces the value in nodepool.yaml")
    parser.add_argument("--port", type=int, help="replaces the value in nodepool.yaml")
    parser.add_argument("--cross-origin", action="store_true", help="allow pages of other sites to read the answers")
    parser.add_argument("--allowed-host", action="append", default=[], help="a name of the service; any without it")
    parser.add_argument("--path-prefix", default="", help="path prefix that a proxy leaves in the requests it forwards")
    parser.add_argument("--check", action="store_true", help="only check the configuration")
    wanted = parser.parse_args(arguments)
    set_malloc_options()
    options = WebOptions(config=wanted.config, secure_config=wanted.secure_config, settings=wanted.settings)
    notifier = Notifier()

    def started(listening: Listening) -> None:
        notifier.tell("READY=1", f"STATUS=listening on {listening.address}")

    try:
        prefix = prefix_of(wanted.path_prefix)
        if wanted.check:
            require_libraries()
            options.load()
            return 0
        stop = Stop(lambda _state: notifier.beat())
        with Control(stop, controller_gone=lambda: False):
            # systemd names the unit's folder in STATE_DIRECTORY.
            kept = os.environ.get("STATE_DIRECTORY") or default_folder()
            serve(
                options,
                stop=stop,
                host=wanted.listen_address,
                port=wanted.port,
                state_dir=kept,
                visitors=Visitors(wanted.cross_origin, tuple(wanted.allowed_host), prefix),
                say=say,
                started=started,
            )
    except NodepoolError as error:
        say(Trouble(str(error)))
        return TRY_LATER if isinstance(error, AddressError) else CONFIG
    notifier.tell("STOPPING=1", "STATUS=ended")
    return 0


def say(line: str) -> None:
    """Print a text; its lines get their priority when the output goes to the journal."""
    priority = WARNING if isinstance(line, Trouble) else INFO
    for part in line.split("\n"):
        write(priority, part)


if __name__ == "__main__":
    sys.exit(main())
