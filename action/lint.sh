#!/usr/bin/env bash
# Annotates the files of a change; with the input sarif, writes a file for code scanning first.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/inputs.sh"
options+=("--profile=$KRMHUB_ACTION_PROFILE")
if [ -n "${KRMHUB_ACTION_SARIF:-}" ]; then
  if [ -n "${KRMHUB_ACTION_RULES_URL:-}" ]; then options+=("--rules-url=$KRMHUB_ACTION_RULES_URL"); fi
  status=0
  report=$(mktemp)
  "$here/krmhub.sh" lint "${options[@]}" --format=sarif -- "${files[@]}" > "$report" || status=$?
  # A change may have put a link there, which could lead to any file of the runner.
  folder=$(dirname -- "$KRMHUB_ACTION_SARIF")
  case "$(realpath -- "$folder")/" in
    "$(realpath -- "${GITHUB_WORKSPACE:-.}")"/*) ;;
    *) fail "The input sarif names a file outside of the workspace: $KRMHUB_ACTION_SARIF" ;;
  esac
  rm -f -- "$KRMHUB_ACTION_SARIF"
  mv -- "$report" "$KRMHUB_ACTION_SARIF"
  # Findings are told again below, where they fail the step.
  if [ "$status" -gt 1 ]; then exit "$status"; fi
fi
exec "$here/krmhub.sh" lint "${options[@]}" --format=github -- "${files[@]}"
