# The steps source this file. Inputs come from the environment only: text in a script could run as commands.

fail() {
  echo "::error title=krmhub::$1"
  exit 2
}

# Keep the part of the cache in which each file is named by its digest, which krmhub verifies. Another job could have
# written the rest, and jobs without the token of a registry, such as those of forks, can restore what this one keeps.
keep_blobs() {
  [ ! -d "${KRMHUB_CACHE:-}" ] || find "$KRMHUB_CACHE/" -mindepth 1 -maxdepth 1 ! -name blobs -exec rm -rf -- {} +
}
keep_blobs
trap keep_blobs EXIT

# Print the lines of a text, without blanks at their ends and without empty lines.
lines() {
  while IFS= read -r line || [ -n "$line" ]; do
    line=${line%$'\r'}
    line="${line#"${line%%[![:space:]]*}"}"
    line="${line%"${line##*[![:space:]]}"}"
    if [ -n "$line" ]; then printf '%s\n' "$line"; fi
  done <<< "$1"
}

# Set the array `trusted` to options for the input trusted-catalogs.
# The bash of macOS takes an empty array for an unset variable: expand it as ${trusted[@]+"${trusted[@]}"}.
trusted=()
while IFS= read -r catalog; do trusted+=("--trusted-catalog=$catalog"); done < <(lines "${KRMHUB_ACTION_TRUSTED_CATALOGS:-}")

[ -n "${KRMHUB_ACTION_PATH:-}" ] || fail 'The input path is empty. Name the folder of a kustomization or kpt package.'
# A path that begins with a hyphen is not an option.
case "$KRMHUB_ACTION_PATH" in
  -*) KRMHUB_ACTION_PATH=./$KRMHUB_ACTION_PATH ;;
esac

# Run a command whose messages quote documents, which must not contain commands for the runner. Only the random word enables
# commands again. Sets `status`.
without_commands() {
  local word
  word=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  echo "::stop-commands::$word"
  status=0
  # One stream: messages must not arrive after the word.
  "$@" 2>&1 || status=$?
  echo "::$word::"
}
