#!/usr/bin/env bash
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# GitLab's custom executor, run_exec SCRIPT STAGE: run a script of GitLab Runner on the node.
set -uo pipefail

readonly script=$1 stage=$2

nodepoolctl --quiet ssh "$NODEPOOL_LEASE" bash <"$script"
status=$?
case $status in
  0) exit 0 ;;
  255)
    echo "ssh to the node failed in stage $stage" >&2
    exit "${SYSTEM_FAILURE_EXIT_CODE:-2}"
    ;;
esac
# GitLab Runner shows this number as the exit code of the job.
if [ -n "${BUILD_EXIT_CODE_FILE:-}" ]; then
  echo "$status" >"$BUILD_EXIT_CODE_FILE"
fi
exit "${BUILD_FAILURE_EXIT_CODE:-1}"
