# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The life of the web service: configuration, picture and HTTP server from its beginning to its end."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any

from ...clients.config_file import Stamp
from ...cycles.frame.config_watch import ConfigWatch
from ...cycles.frame.options import ConfigOptions
from ...cycles.frame.stop import SERVING, Stop
from ...model.lines import Trouble
from ..page.rendering import NO_FILES, has_files
from ..picture import Picture
from .application import Application
from .listening import Listening

STUCK = 60.0
"""Seconds after which a server thread that shows no sign of life counts as hung."""


class WebOptions(ConfigOptions):
    """Where the configuration is. No cloud is called, so clouds.yaml is not looked at."""

    def cloud_stamps(self) -> dict[str, Stamp]:
        """Return nothing."""
        return {}


def serve(
    options: ConfigOptions,
    *,
    stop: Stop,
    host: str | None = None,
    port: int | None = None,
    duration: float | None = None,
    say: Callable[[str], None] = lambda line: None,
    started: Callable[[Listening], None] = lambda listening: None,
) -> dict[str, Any]:
    """Serve until *stop* is asked, or for *duration* seconds.

    The configuration is read again when its files change. What it says of ZooKeeper and of the web service itself
    counts at the next start.

    :param host, port: instead of ``listen_address`` and ``port`` of the section ``webapp``.
    :param say: takes lines for people.
    :param started: called once, when requests are answered.
    :return: ``address`` and ``seconds``.
    :raises NodepoolError: the configuration or the address cannot be used, or a library is missing.
    """
    begun = time.monotonic()
    end = math.inf if duration is None else begun + duration
    watch = ConfigWatch(options, say)
    config = watch.known = options.load()
    picture = Picture(config)
    wake = threading.Event()
    address = config.webapp_listen_address if host is None else host
    application = Application(picture)
    with Listening(application, address, config.webapp_port if port is None else port) as listening:
        picture.open(lambda line: say(Trouble(line)), opened=application.prepare)
        try:
            say(f"listening on {listening.address}")
            if not has_files():
                say(Trouble(NO_FILES))
            started(listening)
            stop.tell(wake.set)
            while stop.reason is None and (left := end - time.monotonic()) > 0:
                if time.monotonic() - listening.beaten < STUCK:
                    stop.beat(SERVING)
                news = watch.look(time.monotonic())
                if news is not None and news.config is not None:
                    picture.configure(news.config)
                wake.wait(min(left, watch.due(time.monotonic()), 1.0))
        finally:
            picture.close()
    return {"address": listening.address, "seconds": round(time.monotonic() - begun, 1)}
