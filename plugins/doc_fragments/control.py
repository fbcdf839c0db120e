# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of cycles: options for early ends, heartbeats, profiles, sessions, checks, progress and statsd."""

from __future__ import annotations


class ModuleDocFragment:
    """Options of cycles that follow each other.

    ``control.progress`` is the option with which a module shows its progress, ``control.statsd`` the note on statsd.
    """

    DOCUMENTATION = r"""
options:
  control_file:
    description:
      - A file that the module reads while the cycle works. When its first line is C(stop), the cycle ends in good
        order. It begins nothing new, and the next cycle continues what is under way. The file need not exist.
      - When its first line is C(dump), the cycle writes the calls of all its threads and the state of its queues into
        its lines, once for each time that the file is written, and continues.
      - A signal to C(ansible-playbook) does not end the module at once, so a loop that runs cycles stops them with this
        file.
    type: path
  heartbeat_file:
    description:
      - A file that the cycle writes, and then touches at least every 10 seconds as long as its main thread makes
        progress. When the file was not touched for 25 seconds the cycle hangs, and the loop that runs the cycle should
        end it.
      - It holds a line of JSON with C(pid), C(started) (in clock ticks since the boot) and C(state), which is
        C(starting), C(standing by), C(serving) or C(ended).
    type: path
  profile_file:
    description:
      - A file into which the cycle writes, when it ends, a profile of its deciding thread, for C(python -m pstats). The
        profile does not contain the threads that call APIs of clouds. In check mode there is no profile.
      - The profile is made with Python's C(cProfile). From Python 3.12 on, C(cProfile) mixes the calls of all threads,
        so Python's C(profile) is used, which makes the thread several times as slow.
    type: path
  state_dir:
    description:
      - A directory, private to the user, in which cycles on the same host note their ZooKeeper sessions. When a cycle
        was killed, the next one closes its session. Its locks are then free at once, not only after the session
        time-out. They also keep the last valid configuration there, with its secrets, in a file that only the user can
        read; later cycles use it while O(config) or O(secure_config) cannot be used. An empty string turns both off.
      - When unset, the directory that C(NODEPOOL_STATE_DIR) in the environment names is used, or else one below the
        user's runtime directory.
    type: path
  strict_check:
    description:
      - In check mode, fail when a provider of the configuration cannot be used, or a label needs something that its
        cloud does not have. The failure lists all reasons and has the whole result.
      - With V(false) the module only returns the reasons. Outside of check mode the option has no effect.
    type: bool
    default: true
"""

    PROGRESS = r"""
options:
  progress_file:
    description:
      - A file to which the module appends a line of JSON for each event. The action plugin of the same name sets this
        option and shows the lines while the module works.
      - Each object has C(time) (UNIX time), C(line) (the text) and C(priority) (4 for a problem, otherwise 6), and
        C(provider), C(pool), C(label), C(request), C(node), C(event_id) (of the requestor), C(server), C(image),
        C(build) and C(upload), when the line is about one.
    type: path
"""

    STATSD = r"""
options: {}
notes:
  - When the environment has C(STATSD_HOST), the module sends metrics to statsd under Nodepool's names. C(STATSD_PORT)
    and C(STATSD_PREFIX) are honoured, and the Python library statsd must be installed. The module continues when statsd
    cannot be reached.
"""
