#!/bin/sh
# Builds build/set-owner_OS_ARCH for each platform. The same source and Go version give the same bytes.
set -eu
cd "$(dirname "$0")"
for platform in ${*:-linux/amd64 linux/arm64}; do
  os=${platform%/*} arch=${platform#*/} suffix=
  [ "$os" != windows ] || suffix=.exe
  CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build -trimpath -buildvcs=false -ldflags='-s -w -buildid=' \
    -o "build/set-owner_${os}_${arch}$suffix" .
done
