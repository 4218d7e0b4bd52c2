#!/bin/sh
# Builds the edigw binary. The container image and CI both run this script.
# Usage: deploy/build.sh [OUTPUT]   (default: ./bin/edigw)
# EDIGW_TAGS=openssl lets OpenSSL compute with our RSA keys; it needs libcrypto.
set -eu
cd "$(dirname "$0")/.."
out=${1:-bin/edigw}
version=${EDIGW_VERSION:-$(git describe --tags --always --dirty 2>/dev/null || echo unknown)}
CGO_ENABLED=1 go build -tags "${EDIGW_TAGS:-}" -trimpath -ldflags "-s -w -X main.version=$version" -o "$out" ./cmd/edigw
