# The steps source this file. Inputs come from the environment only: text in a script could run as commands.

fail() {
  echo "::error title=krmhub::$1"
  exit 2
}

# Split the lines of KRMHUB_ACTION_FILES into the array `files`.
files=()
while IFS= read -r line || [ -n "$line" ]; do
  line=${line%$'\r'}
  line="${line#"${line%%[![:space:]]*}"}"
  line="${line%"${line##*[![:space:]]}"}"
  if [ -n "$line" ]; then files+=("$line"); fi
done <<< "${KRMHUB_ACTION_FILES:-}"
[ "${#files[@]}" -gt 0 ] || fail 'The input files is empty. List one file or folder per line.'

# Add OPTION to `options` if the input is true.
options=()
flag() {
  case "$2" in
    true) options+=("$1") ;;
    false) ;;
    *) fail "The input ${1#--} must be true or false." ;;
  esac
}
