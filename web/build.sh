#!/usr/bin/env bash
# Bundles the figures' code: web/src and the libraries that package-lock.json pins become report.js, report.css and
# LICENSES.txt in OUT (default: web/dist, which is kept in the repository so that building Partita needs no node).
#
# usage: web/build.sh [OUT]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "${1:-$here/dist}" && cd "${1:-$here/dist}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp -r "$here/package.json" "$here/package-lock.json" "$here/src" "$here/licenses.mjs" "$work/"
cd "$work"
npm ci --ignore-scripts --no-audit --no-fund --silent
npx --no-install esbuild src/main.js --bundle --minify --format=iife --target=es2020 --charset=utf8 \
  --legal-comments=none --metafile=meta.json --outfile=report.js --log-level=warning
npx --no-install esbuild src/report.css --minify --charset=utf8 --outfile=report.css --log-level=warning
node licenses.mjs meta.json > LICENSES.txt
{ printf '/*\n'; cat LICENSES.txt; printf '*/\n'; cat report.js; } > bundle.js
cp bundle.js "$out/report.js"
cp report.css LICENSES.txt "$out/"
