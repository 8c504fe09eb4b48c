# Read by the steps. Inputs come by the environment alone: as text in a script they could be commands.

fail() {
  echo "::error title=krmhub::$1"
  exit 2
}

# Lines of KRMHUB_ACTION_FILES as the array `files`.
files=()
while IFS= read -r line || [ -n "$line" ]; do
  line=${line%$'\r'}
  line="${line#"${line%%[![:space:]]*}"}"
  line="${line%"${line##*[![:space:]]}"}"
  if [ -n "$line" ]; then files+=("$line"); fi
done <<< "${KRMHUB_ACTION_FILES:-}"
[ "${#files[@]}" -gt 0 ] || fail 'The input files is empty: name a file or folder on each line.'

# Adds OPTION to `options` where the input is true.
options=()
flag() {
  case "$2" in
    true) options+=("$1") ;;
    false) ;;
    *) fail "The input ${1#--} must be true or false." ;;
  esac
}
