#!/usr/bin/env bash
# Runs krmhub from the checkout of this file, and builds it first if needed.
# If KRMHUB_PROGRAM is set, runs that program instead.
set -euo pipefail
if [ -n "${KRMHUB_PROGRAM:-}" ]; then
  exec "$KRMHUB_PROGRAM" "$@"
fi
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ ! -f "$root/node_modules/.cache/krmhub-built" ]; then
  node "$root/scripts/prepare.mjs" >&2
fi
exec node "$root/apps/cli/bin/krmhub.js" "$@"
