# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the web service: configuration, picture and HTTP server from start to end."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any

from ...clients.config_file import Stamp
from ...cycles.frame.config_source import ConfigSource
from ...cycles.frame.config_watch import ConfigWatch
from ...cycles.frame.cycle_options import ConfigOptions
from ...cycles.frame.stop import SERVING, Stop
from ...model.lines import Trouble
from ..events.recorder import Recorder
from ..page.rendering import NO_FILES, has_files
from ..picture import Picture
from .application import Application, Visitors
from .listening import Listening

STUCK = 60.0
"""Seconds without a completed turn after which the server's thread counts as hung."""


class WebOptions(ConfigOptions):
    """The paths of the configuration. The web service calls no cloud, so clouds.yaml is not used."""

    def cloud_stamps(self) -> dict[str, Stamp]:
        """Return nothing: clouds.yaml is not watched."""
        return {}


def serve(
    options: ConfigOptions,
    *,
    stop: Stop,
    host: str | None = None,
    port: int | None = None,
    state_dir: str = "",
    visitors: Visitors | None = None,
    duration: float | None = None,
    say: Callable[[str], None] = lambda line: None,
    started: Callable[[Listening], None] = lambda listening: None,
) -> dict[str, Any]:
    """Serve until *stop* is asked, or for *duration* seconds.

    The configuration is read again when its files change. Its settings for ZooKeeper and for the web service itself
    take effect at the next start.

    :param host, port: used instead of ``listen_address`` and ``port`` of the section ``webapp``.
    :param state_dir: where valid configurations and the last state are kept; "" for nowhere.
    :param visitors: who may read the answers in a browser.
    :param say: takes lines for people.
    :param started: called once, when the server answers requests.
    :return: ``address`` and ``seconds``.
    :raises NodepoolError: when the configuration or the address cannot be used, or a library is missing.
    """
    begun = time.monotonic()
    end = math.inf if duration is None else begun + duration
    source = ConfigSource(options, state_dir, say)
    watch = ConfigWatch(source, say)
    config = source.begin()
    watch.begin(config, source.problems)
    picture = Picture(config, folder=state_dir)
    recorder = Recorder(picture)
    wake = threading.Event()
    address = config.webapp.listen_address if host is None else host
    application = Application(picture, visitors=visitors)
    with Listening(application, address, config.webapp.port if port is None else port) as listening:
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
                news = watch.poll(time.monotonic())
                if news is not None and news.config is not None:
                    recorder.configured(config, news.config)
                    config = news.config
                    picture.configure(config)
                picture.tell_files(watch.problems)
                recorder.step(time.monotonic())
                wake.wait(min(left, watch.due(time.monotonic()), 1.0))
        finally:
            picture.close()
    return {"address": listening.address, "seconds": round(time.monotonic() - begun, 1)}
