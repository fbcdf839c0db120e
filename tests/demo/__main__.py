# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m tests.demo [--keep] [--crowd] [--stop]``"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType

from tests.demo import crowd
from tests.demo.requestor import Requestor
from tests.demo.screen import Screen, StepFailed
from tests.demo.story import Story
from tests.demo.world import CROWD_SECONDS, ROOT, STATE, World, stop
from tests.support.own_state import use_own_state_folder
from tests.support.simcloud_process import ControlError
from tests.support.zookeeper_server import ZooKeeperMissing, class_path


def main() -> int:
    """Run the demo, or stop one that was left running."""
    parser = argparse.ArgumentParser(prog="make demo", description="Launcher and builder at work on a simulated cloud.")
    parser.add_argument("--keep", action="store_true", help="leave ZooKeeper, the clouds and a lease running")
    parser.add_argument("--crowd", action="store_true", help="a site with 6,000 nodes to look at, instead of the story")
    parser.add_argument("--stop", action="store_true", help="end a demo that was left running")
    options = parser.parse_args()
    if options.stop:
        ended = stop()
        print(f"Stopped: {', '.join(ended)}." if ended else "No demo is running.")
        return 0
    try:
        class_path()
    except ZooKeeperMissing as problem:
        print(problem, file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGHUP, _interrupt)
    return _run(partial(_show_the_crowd if options.crowd else _show_the_story, keep=options.keep))


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _run(show: Callable[[World, Screen], bool]) -> int:
    """Show something and end it; *show* returns True for what is to stay."""
    world = World()
    use_own_state_folder(world.state / "host")
    screen = Screen(world.logs)
    stays = False
    try:
        stays = show(world, screen)
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return 130
    except (StepFailed, ControlError, RuntimeError) as problem:
        print(f"\nThe demo failed: {problem}\nAll logs: {world.logs}", file=sys.stderr)
        return 1
    finally:
        screen.close()
        if not stays:
            world.close()
    screen.end("It keeps running" if stays else "Everything is stopped: done")
    return 0


def _show_the_story(world: World, screen: Screen, *, keep: bool) -> bool:
    with screen.step("Start a private ZooKeeper and a simulated OpenStack with two clouds"):
        world.start()
        screen.say(f"ZooKeeper on port {world.zookeeper_port}, the clouds at {world.cloud and world.cloud.url}")
    requestor = Requestor(f"127.0.0.1:{world.zookeeper_port}")
    try:
        Story(world, screen, requestor).tell(keep=keep)
    finally:
        requestor.close()
    if keep:
        _say_how_to_look_around(world)
    return keep


def _show_the_crowd(world: World, screen: Screen, *, keep: bool) -> bool:
    with screen.step("Start a private ZooKeeper and fill it with 6,000 nodes at 17 providers, of which four are ill"):
        world.start_crowd()
    with screen.step("Look at the first screen"):
        command = [
            "ansible-playbook",
            str(ROOT / "playbooks/status.yml"),
            "-e",
            f"@{world.variables}",
            "-e",
            "status_width=120",
        ]
        status = screen.start("status", command, world.environment(), ROOT)
        screen.follow("status", status, "^(ATTENTION.*|  [!-] .*)", CROWD_SECONDS)
    if keep:
        address = world.start_web()
        if address is None:
            raise RuntimeError(f"the web service does not answer: see {world.logs / 'web.log'}")
        _say_the_tour(world, address)
    return keep


def _say_the_tour(world: World, address: str) -> None:
    state = STATE.relative_to(ROOT)
    print(
        f"\nThe page: {address}\n"
        f"  What needs attention: {crowd.DOWN} answers 503, nobody serves {crowd.UNSERVED}, the quota of\n"
        f"    {crowd.FULL} is used up, calls of {crowd.FLAPPING} fail now and then, builds of fedora-42 fail.\n"
        "  Last six hours: the first curves come after a minute. What changed: a freeze ends and begins, another\n"
        f"    launcher serves {crowd.PROVIDERS[5]}, a build of debian-12 becomes live, with marks beneath the curves.\n"
        "  Providers: those in trouble come first; a line opens to its pools.\n"
        f"  {address}requests: why each request waits; {address}nodes?provider={crowd.FULL}\n"
        "The same on a terminal (after: . .venv/bin/activate)\n"
        f"  ansible-playbook playbooks/status.yml -e @{state}/variables.json -e status_width=120\n"
        "Stop it: make demo-stop"
    )


def _say_how_to_look_around(world: World) -> None:
    state = STATE.relative_to(ROOT)
    address = world.start_web()
    web = f"The web service: {address}, for programs {address}node-list"
    if address is None:
        web = f"The web service does not answer; why: {world.logs / 'web.log'}"
    print(
        f"\nLook around (in {ROOT}, after: . .venv/bin/activate)\n"
        f"  ansible-inventory -i {state}/demo.nodepool.yml --graph\n"
        f"  ansible -i {state}/demo.nodepool.yml all -m ping\n"
        f"  ansible-playbook playbooks/launcher.yml -e @{state}/variables.json --check --diff\n"
        f"  ansible-playbook playbooks/nodes.yml -e @{state}/variables.json -e nodes_name=mine \\\n"
        '      -e \'{"nodes_labels": ["small"], "nodes_launch": true}\'\n'
        f"  ansible-playbook playbooks/builder.yml -e @{state}/variables.json --check --diff\n"
        f"  ansible-playbook playbooks/image_rebuild.yml -e @{state}/variables.json -e image_names=tiny\n"
        f"  curl {world.cloud.url if world.cloud else ''}/control/clouds/east/servers\n"
        f"  the configuration: {state}/nodepool.yaml, the logs: {state}/log\n"
        f"{web}\n"
        "Stop it: make demo-stop"
    )


if __name__ == "__main__":
    sys.exit(main())
