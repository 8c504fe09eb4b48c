#!/usr/bin/env bash
# Runs krmhub out of the checkout that this file stands in, and builds that first where nobody has.
# KRMHUB_PROGRAM names an installed one, which is run in its place.
set -euo pipefail
if [ -n "${KRMHUB_PROGRAM:-}" ]; then
  exec "$KRMHUB_PROGRAM" "$@"
fi
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ ! -f "$root/node_modules/.cache/krmhub-built" ]; then
  node "$root/scripts/prepare.mjs" >&2
fi
exec node "$root/apps/cli/bin/krmhub.js" "$@"
