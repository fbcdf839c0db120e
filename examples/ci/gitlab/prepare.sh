#!/usr/bin/env bash
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# GitLab's custom executor, prepare_exec: lease the node of the job. Its label is what the job names with "image:".
# A failure of this script is a failure of the system: GitLab Runner retries, and then the job fails as "runner system failure".
set -euo pipefail

label=${CUSTOM_ENV_CI_JOB_IMAGE:-${NODEPOOL_LABEL:-}}
if [ -z "${label//[[:space:]]/}" ]; then
  echo "The job names no label: write the label of a node as its image, for instance image: debian-12" >&2
  exit "${BUILD_FAILURE_EXIT_CODE:-1}"
fi

# If GitLab Runner dies, nobody calls cleanup.sh: the lease ends by itself soon after the job would have timed out.
# Bash runs commands that it finds in the text of a calculation, so only a number may get there.
timeout=${CUSTOM_ENV_CI_JOB_TIMEOUT:-3600}
case $timeout in
  *[!0-9]*)
    echo "The time-out of the job is $timeout, which is no number of seconds" >&2
    exit "${BUILD_FAILURE_EXIT_CODE:-1}"
    ;;
esac
expires=$((10#$timeout + ${NODEPOOL_MARGIN:-600}))

status=0
nodepoolctl lease --expires "$expires" --timeout "${NODEPOOL_TIMEOUT:-900}" --cancel-on-timeout \
  -- "$NODEPOOL_LEASE" "$label" || status=$?
case $status in
  0) ;;
  3) exit "${BUILD_FAILURE_EXIT_CODE:-1}" ;; # no such label: trying again does not help
  *) exit "${SYSTEM_FAILURE_EXIT_CODE:-2}" ;;
esac
