#!/usr/bin/env bash
# Annotates the files of a change; with the input sarif, writes a file for code scanning first.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/inputs.sh"
options+=("--profile=$KRMHUB_ACTION_PROFILE")
if [ -n "${KRMHUB_ACTION_SARIF:-}" ]; then
  if [ -n "${KRMHUB_ACTION_RULES_URL:-}" ]; then options+=("--rules-url=$KRMHUB_ACTION_RULES_URL"); fi
  status=0
  "$here/krmhub.sh" lint "${options[@]}" --format=sarif -- "${files[@]}" > "$KRMHUB_ACTION_SARIF" || status=$?
  # Findings are told again below, where they fail the step.
  if [ "$status" -gt 1 ]; then exit "$status"; fi
fi
exec "$here/krmhub.sh" lint "${options[@]}" --format=github -- "${files[@]}"
