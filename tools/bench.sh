#!/usr/bin/env bash
# The figures of docs/performance.md. usage: bench.sh BUILD_DIR [REGEX]
set -euo pipefail
build=$1
filter=${2-.}
here=$(cd "$(dirname "$0")/.." && pwd)

for program in "$build"/bin/*_bench; do
  "$program" --benchmark_list_tests --benchmark_filter="$filter" 2>/dev/null | grep -q . || continue
  printf '\n== %s\n' "$(basename "$program")"
  "$program" --benchmark_filter="$filter" --benchmark_color=false
done

name="command"
if [[ $name =~ $filter ]]; then
  printf '\n== command\n'
  python3 "$here/bench/command.py" "$build/bin/partita" "$here/docs/examples/layouts.yaml"
fi
