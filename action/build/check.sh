#!/usr/bin/env bash
# Compares the lock with the catalogs, and prints what runs. For a kpt package, also compares the Kptfile.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/inputs.sh"
krmhub="$here/../krmhub.sh"

case "$KRMHUB_ACTION_LOCK" in
  true)
    without_commands "$krmhub" lock "$KRMHUB_ACTION_PATH" ${trusted[@]+"${trusted[@]}"} --check
    if [ "$status" != 0 ]; then fail "The lock is not up to date; the log has the reason (exit code $status)."; fi
    ;;
  false) ;;
  *) fail 'The input lock must be true or false.' ;;
esac

without_commands "$krmhub" explain ${trusted[@]+"${trusted[@]}"} -- "$KRMHUB_ACTION_PATH"
if [ "$status" != 0 ]; then fail "Some functions may not run; the log has the reason (exit code $status)."; fi

if [ -f "$KRMHUB_ACTION_PATH/Kptfile" ]; then
  without_commands "$krmhub" kpt sync ${trusted[@]+"${trusted[@]}"} --check -- "$KRMHUB_ACTION_PATH"
  if [ "$status" != 0 ]; then fail "The Kptfile is not up to date; the log has the difference (exit code $status)."; fi
fi
