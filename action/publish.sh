#!/usr/bin/env bash
# Publishes, and sets the output result.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/inputs.sh"
[ -n "${KRMHUB_REGISTRY:-}" ] || fail 'The input registry is empty. Set it to the URL of the registry.'
if [ -z "${KRMHUB_TOKEN:-}" ] && [ -z "${ACTIONS_ID_TOKEN_REQUEST_URL:-}" ]; then
  fail 'The job has no credentials. Add `permissions: {id-token: write}` for a trusted publisher, or set the input token; forks get neither.'
fi
flag --allow-breaking "$KRMHUB_ACTION_ALLOW_BREAKING"
flag --dry-run "$KRMHUB_ACTION_DRY_RUN"
options+=("--output=json")
if [ -n "${KRMHUB_ACTION_RELEASE:-}" ]; then options+=("--release=$KRMHUB_ACTION_RELEASE"); fi
if [ -n "${KRMHUB_ACTION_README:-}" ]; then options+=("--readme=$KRMHUB_ACTION_README"); fi

# Messages quote documents, which must not contain commands for the runner. Only the random word enables commands again.
word=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
echo "::stop-commands::$word"
status=0
result=$("$here/krmhub.sh" publish "${options[@]}" -- "${files[@]}") || status=$?
if [ -n "$result" ]; then printf '%s\n' "$result"; fi
echo "::$word::"
if [ "$status" = 0 ] && [ -z "$result" ]; then fail 'krmhub printed nothing: the program is incomplete.'; fi
if [ "$status" != 0 ]; then fail "Some or all files were not published; the log has the reason (exit code $status)."; fi
{
  echo "result<<$word"
  printf '%s\n' "$result"
  echo "$word"
} >> "$GITHUB_OUTPUT"
