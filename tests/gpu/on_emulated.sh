#!/usr/bin/env bash
# on_emulated.sh PARTITA GPU_TEST: both parts of the GPU check, run on emulated nodes that are cut in a known way. No
# test may be skipped there.
set -euo pipefail
partita=$1 gpu_test=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PARTITA_EMULATED_ROOT=$folder/nodes

for node in dgx-h100 a30x2; do
  "$partita" --emulate "$node" generate-config >"$folder/all.yaml"
  "$partita" --emulate "$node" apply -f "$folder/all.yaml" -c all-balanced
  "$partita" emulate "$node" -- "$gpu_test" | tee "$folder/log"
  if grep -q SKIPPED "$folder/log"; then
    echo "FAILED: $node: a check was skipped"
    exit 1
  fi
  "$partita" emulate "$node" -- "$here/check.sh" "$partita"
done
