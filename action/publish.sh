#!/usr/bin/env bash
# Publishes, and gives what was published as the output result.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/inputs.sh"
[ -n "${KRMHUB_REGISTRY:-}" ] || fail 'The input registry is empty: name the URL of the registry to publish to.'
[ -n "${KRMHUB_TOKEN:-}" ] || fail 'The input token is empty: give a secret of this repository, which forks do not get.'
flag --allow-breaking "$KRMHUB_ACTION_ALLOW_BREAKING"
flag --dry-run "$KRMHUB_ACTION_DRY_RUN"
options+=("--output=json")
if [ -n "${KRMHUB_ACTION_RELEASE:-}" ]; then options+=("--release=$KRMHUB_ACTION_RELEASE"); fi
if [ -n "${KRMHUB_ACTION_README:-}" ]; then options+=("--readme=$KRMHUB_ACTION_README"); fi

# Messages quote documents, which must not give the runner commands; only who knows the word can end that.
word=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
echo "::stop-commands::$word"
status=0
result=$("$here/krmhub.sh" publish "${options[@]}" -- "${files[@]}") || status=$?
if [ -n "$result" ]; then printf '%s\n' "$result"; fi
echo "::$word::"
if [ "$status" = 0 ] && [ -z "$result" ]; then fail 'krmhub said nothing: the program is not whole.'; fi
if [ "$status" != 0 ]; then fail "Nothing or not everything was published; the log says why (exit code $status)."; fi
{
  echo "result<<$word"
  printf '%s\n' "$result"
  echo "$word"
} >> "$GITHUB_OUTPUT"
