#!/usr/bin/env bash
# Builds the manifests into a file, and sets the output manifests.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/inputs.sh"

if [ -f "$KRMHUB_ACTION_PATH/Kptfile" ] && ! ls "$KRMHUB_ACTION_PATH"/kustomization.y*ml "$KRMHUB_ACTION_PATH"/Kustomization >/dev/null 2>&1; then
  echo 'A kpt package is rendered by kpt: kpt fn render'
  exit 0
fi

# The change may contain a symbolic link to any file of the runner.
folder=$(dirname -- "$KRMHUB_ACTION_OUTPUT")
case "$(realpath -- "$folder")/" in
  "$(realpath -- "${GITHUB_WORKSPACE:-.}")"/*) ;;
  *) fail "The input output is a file outside the workspace: $KRMHUB_ACTION_OUTPUT" ;;
esac

arguments=()
while IFS= read -r argument; do arguments+=("$argument"); done < <(lines "${KRMHUB_ACTION_ARGUMENTS:-}")

manifests=$(mktemp)
build() {
  "$here/../krmhub.sh" build ${trusted[@]+"${trusted[@]}"} ${arguments[@]+"${arguments[@]}"} "$KRMHUB_ACTION_PATH" > "$manifests"
}
without_commands build
if [ "$status" != 0 ]; then fail "The manifests were not built; the log has the reason (exit code $status)."; fi
rm -f -- "$KRMHUB_ACTION_OUTPUT"
mv -- "$manifests" "$KRMHUB_ACTION_OUTPUT"

word=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
{
  echo "manifests<<$word"
  printf '%s\n' "$KRMHUB_ACTION_OUTPUT"
  echo "$word"
} >> "$GITHUB_OUTPUT"
