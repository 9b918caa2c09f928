#!/usr/bin/env bash
# check.sh PARTITA: runs the reading verbs on this machine's GPUs and checks their exit codes. Changes no mode and no
# instance. Exit 77 (skipped) where there is no NVIDIA driver.
set -u
partita=$1

if [[ -z ${PARTITA_EMULATED_NODE-} && ! -e /dev/nvidiactl ]]; then
  echo "skipped: no NVIDIA driver on this machine (/dev/nvidiactl is missing)"
  exit 77
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# expect CODES COMMAND...: the exit code is one of CODES ("0 1").
expect() {
  local codes=$1 code=0
  shift
  "$@" >"$folder/out" 2>"$folder/err" || code=$?
  if [[ " $codes " == *" $code "* ]]; then
    echo "ok: exit $code: ${*##*/}"
  else
    echo "FAILED: exit $code, expected one of: $codes: $*"
    cat "$folder/out" "$folder/err"
    failed=1
  fi
}

expect 0 "$partita" status
expect 0 "$partita" -o json status
expect "0 1" "$partita" doctor # 1: it found something to mend
expect 0 "$partita" export -l now
cp "$folder/out" "$folder/now.yaml"

# Asking for what is there plans no change; asking for a label that is not there is an error.
expect 0 "$partita" plan -f "$folder/now.yaml" -c now
expect 0 "$partita" assert -f "$folder/now.yaml" -c now
expect 2 "$partita" plan -f "$folder/now.yaml" -c no-such-label
expect 2 "$partita" plan -f "$folder/missing.yaml" -c now

# Plans of everything that the hardware offers: possible, or refused with a reason (no room, busy).
expect 0 "$partita" generate-config
cp "$folder/out" "$folder/all.yaml"
for label in $(grep -oE '^ +"?all-[^": ]+' "$folder/all.yaml" | tr -d ' "'); do
  expect "0 3 4" "$partita" plan -f "$folder/all.yaml" -c "$label"
done

# Nothing has changed.
expect 0 "$partita" export -l now
if ! cmp -s "$folder/out" "$folder/now.yaml"; then
  echo "FAILED: the node is not as it was before:"
  diff "$folder/now.yaml" "$folder/out"
  failed=1
fi
exit $failed
