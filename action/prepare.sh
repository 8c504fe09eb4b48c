#!/usr/bin/env bash
# Builds krmhub and checks its version against the input.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
case "$KRMHUB_ACTION_PUBLISH" in
  true | false) ;;
  *)
    echo "::error title=krmhub::The input publish must be true or false."
    exit 2
    ;;
esac
version=$("$here/krmhub.sh" --version)
if [ -n "${KRMHUB_ACTION_VERSION:-}" ] && [ "${KRMHUB_ACTION_VERSION#v}" != "$version" ]; then
  echo "::error title=krmhub::This action runs krmhub $version, but the input version asks for another one."
  exit 2
fi
echo "krmhub $version"
