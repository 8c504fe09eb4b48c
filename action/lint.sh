#!/usr/bin/env bash
# Annotates the files of a change. With the input sarif, first writes a file for code scanning.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/inputs.sh"
options+=("--ruleset=$KRMHUB_ACTION_RULESET")
if [ -n "${KRMHUB_ACTION_SARIF:-}" ]; then
  if [ -n "${KRMHUB_ACTION_RULES_URL:-}" ]; then options+=("--rules-url=$KRMHUB_ACTION_RULES_URL"); fi
  status=0
  report=$(mktemp)
  "$here/krmhub.sh" lint "${options[@]}" --output=sarif -- "${files[@]}" > "$report" || status=$?
  # The change may contain a symbolic link to any file of the runner.
  folder=$(dirname -- "$KRMHUB_ACTION_SARIF")
  case "$(realpath -- "$folder")/" in
    "$(realpath -- "${GITHUB_WORKSPACE:-.}")"/*) ;;
    *) fail "The input sarif is a file outside the workspace: $KRMHUB_ACTION_SARIF" ;;
  esac
  rm -f -- "$KRMHUB_ACTION_SARIF"
  mv -- "$report" "$KRMHUB_ACTION_SARIF"
  # The command below reports findings again and fails the step.
  if [ "$status" -gt 1 ]; then exit "$status"; fi
fi
exec "$here/krmhub.sh" lint "${options[@]}" --output=github -- "${files[@]}"
