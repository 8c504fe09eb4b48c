#!/usr/bin/env bash
# Opens a pull request for each function that is behind, or one for all of them. Sets the output branches.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../build/inputs.sh"
krmhub="$here/../krmhub.sh"
path=$KRMHUB_ACTION_PATH

case "$KRMHUB_ACTION_GROUP" in function | all) ;; *) fail 'The input group must be function or all.' ;; esac
case "$KRMHUB_ACTION_DRY_RUN" in true | false) ;; *) fail 'The input dry-run must be true or false.' ;; esac
for prefix in "$KRMHUB_ACTION_BRANCH" "$KRMHUB_ACTION_LABEL"; do
  [[ "$prefix" =~ ^[A-Za-z0-9][A-Za-z0-9._/-]*$ ]] ||
    fail 'The inputs branch and label must have letters, digits, and . _ - / only.'
done
base=$(git rev-parse HEAD)
target=$(git symbolic-ref --quiet --short HEAD) || fail 'The checkout is not of a branch. Run the action on a branch.'

arguments=()
while IFS= read -r argument; do arguments+=("$argument"); done < <(lines "${KRMHUB_ACTION_ARGUMENTS:-}")
[ -z "$(git status --porcelain --untracked-files=no)" ] || fail 'The checkout has changes. Run the action before other steps change files.'
work=$(mktemp -d)
# Leave the branch as it was.
trap 'git reset --quiet --hard "$base"; git switch --quiet "$target"; rm -rf "$work"; keep_blobs' EXIT

list() { "$krmhub" outdated ${trusted[@]+"${trusted[@]}"} --output=json -- "$path" > "$work/outdated.json"; }
without_commands list
listed=$status
[ -s "$work/outdated.json" ] || fail "The functions were not listed; the log has the reason (exit code $listed)."
# What is upgraded, what is locked, what is wanted, and the kinds of the changes; nothing of it has a tab or a line break.
jq -r '
  def version: .release // .tag // (.digest // .definition // "none" | .[0:14]);
  [.entries // [] | .[] | select(.state == "behind") |
    [(.image // .kind // ""), (.locked // {} | version), (.wanted // {} | version),
     ((if (.changes // []) == [] then [.update // "other"] else .changes end) | join(","))]] |
  unique_by(.[0]) | .[] | @tsv' "$work/outdated.json" > "$work/behind"

name_branch() { # NAME
  printf '%s-%s' "$KRMHUB_ACTION_BRANCH" "$1" | LC_ALL=C sed 's/[^A-Za-z0-9._/-]/-/g; s/\.\.*/./g; s/[./-]*$//'
}

preview() { # NAME…
  "$krmhub" lock "$path" ${trusted[@]+"${trusted[@]}"} ${arguments[@]+"${arguments[@]}"} \
    --preview --output=markdown --upgrade "$@" > "$work/body.md"
}
write_lock() { # NAME…
  "$krmhub" lock "$path" ${trusted[@]+"${trusted[@]}"} --upgrade "$@" || return
  [ ! -f "$path/Kptfile" ] || "$krmhub" kpt sync ${trusted[@]+"${trusted[@]}"} -- "$path"
}

branches=() failed=0
upgrade() { # BRANCH TITLE KINDS NAME…
  local branch=$1 title=$2 kinds=$3 labels=() kind options=() number
  shift 3
  git switch --quiet --detach "$base"
  without_commands preview "$@"
  if [ "$status" != 0 ] || [ ! -s "$work/body.md" ]; then
    kinds=$kinds,not-rendered
    printf 'krmhub cannot render the package with the new lock (exit code %s). The log of the job has the reason.\n' \
      "$status" > "$work/body.md"
  fi
  without_commands write_lock "$@"
  if [ "$status" != 0 ]; then
    echo "::error title=krmhub::The lock was not upgraded; the log has the reason (exit code $status)."
    git reset --quiet --hard "$base"
    failed=1
    return
  fi
  git add --update -- "$path"
  if [ -f "$path/krmhub.lock" ]; then git add -- "$path/krmhub.lock"; fi
  if git diff --cached --quiet; then return; fi
  while IFS= read -r kind; do labels+=("$KRMHUB_ACTION_LABEL-$kind"); done < <(tr ',' '\n' <<< "$kinds" | sort -u | grep -E '^[a-z-]+$')
  branches+=("$branch")
  if [ "$KRMHUB_ACTION_DRY_RUN" = true ]; then
    show() { printf '%s\n' "branch: $branch" "title: $title" "labels: ${labels[*]}" ''; cat "$work/body.md"; }
    without_commands show
    git reset --quiet --hard "$base"
    return
  fi
  printf '%s\n' "$title" > "$work/message"
  git -c user.name='github-actions[bot]' -c user.email='41898282+github-actions[bot]@users.noreply.github.com' \
    commit --quiet --file="$work/message"
  # A branch that has the same files on the same commit stays: reviews of it are not lost.
  if ! git fetch --quiet origin "refs/heads/$branch" 2>/dev/null ||
    [ "$(git rev-parse 'FETCH_HEAD^{tree}' 'FETCH_HEAD^1')" != "$(git rev-parse 'HEAD^{tree}' 'HEAD^1')" ]; then
    git push --quiet --force origin "HEAD:refs/heads/$branch"
  fi
  for kind in "${labels[@]}"; do
    gh label create "$kind" --force --color ededed --description 'Upgrade of a KRM function' > /dev/null
    options+=("$kind")
  done
  number=$(gh pr list --head "$branch" --state open --json number --jq '.[0].number // empty')
  if [ -z "$number" ]; then
    gh pr create --head "$branch" --base "$target" --title "$title" --body-file "$work/body.md" \
      --label "$(IFS=,; printf '%s' "${options[*]}")"
  else
    gh pr edit "$number" --title "$title" --body-file "$work/body.md" \
      --add-label "$(IFS=,; printf '%s' "${options[*]}")"
  fi
}

names=() all_kinds=''
while IFS=$'\t' read -r name locked wanted kinds; do
  [ -n "$name" ] || continue
  if [ "$KRMHUB_ACTION_GROUP" = all ]; then
    names+=("$name")
    all_kinds+=,$kinds
  else
    short=${name##*/}
    upgrade "$(name_branch "$path-${short%%@*}")" "Upgrade ${short%%@*} from $locked to $wanted in $path" "$kinds" "$name"
  fi
done < "$work/behind"
if [ "${#names[@]}" -gt 0 ]; then
  upgrade "$(name_branch "$path")" "Upgrade the functions of $path" "$all_kinds" "${names[@]}"
fi

word=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
{
  echo "branches<<$word"
  if [ "${#branches[@]}" -gt 0 ]; then printf '%s\n' "${branches[@]}"; fi
  echo "$word"
} >> "$GITHUB_OUTPUT"
if [ "$listed" != 0 ]; then fail "Some functions were not checked; the log has the reason (exit code $listed)."; fi
if [ "$failed" != 0 ]; then exit 2; fi
