#!/usr/bin/env bash
# The main job on an emulated DGX A100, before the user's eyes: ./dev demo runs this.
# usage: demo.sh PARTITA
set -euo pipefail
partita=$(readlink -f "$1")
here=$(cd "$(dirname "$0")/.." && pwd)
layouts=$here/docs/examples/layouts.yaml
node=demo

bold='' plain='' dim=''
if [ -t 1 ] && [ -z "${NO_COLOR-}" ]; then bold=$'\033[1m' plain=$'\033[0m' dim=$'\033[2m'; fi
step=0
say() { step=$((step + 1)); printf '\n%s%d. %s%s\n' "$bold" "$step" "$*" "$plain"; }
note() { printf '%s%s%s\n' "$dim" "$*" "$plain"; }
# show WORDS: prints the command as a user would type it, then runs it.
show() {
  printf '%s$ partita %s%s\n' "$bold" "${*//$here\//}" "$plain"
  "$partita" "$@"
}

holders=()
finish() {
  for pid in "${holders[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
}
trap finish EXIT

# hold DEVICE: a process that occupies a partition ("4:1": MIG device 1 of GPU 4) until the demo ends.
hold() {
  printf '%s$ partita emulate hold --node %s %s --memory 2GiB -- sleep 600 &%s\n' "$bold" "$node" "$1" "$plain"
  "$partita" emulate hold --node $node "$1" --memory 2GiB -- sleep 600 &
  holders+=($!)
}

"$partita" emulate stop $node >/dev/null 2>&1 || true

say "An emulated DGX A100: 8 GPUs, MIG off, as it comes"
show emulate start $node=dgx-a100
show --emulate $node status

say "A mig-parted layout file: what would 'day' change?"
sed -n '/^  day:/,/^  # Evening/p' "$layouts" | sed '$d'
show --emulate $node plan -f "$layouts" -c day

say "Apply it: MIG on (which resets only those GPUs), instances cut, all or nothing"
show --emulate $node apply -f "$layouts" -c day
show --emulate $node status

say "Two partitions go to work: a 1g on GPU 5 and the 3g on GPU 4"
hold 5:3
hold 4:0
for _ in $(seq 50); do   # until both are seen at work
  [ "$("$partita" --emulate $node -o json status | grep -c '"pid"')" -ge 2 ] && break
  sleep 0.1
done
show --emulate $node status

say "Apply 'evening': only what differs changes, and nothing in use is touched"
show --emulate $node apply -f "$layouts" -c evening

say "Ask for what cannot be: GPU 4 as 7 x 1g, while its 3g is in use"
show --emulate $node apply -f "$layouts" -c morning || note "exit status $? (busy); nothing has changed"

say "Ask for more room than there is: five whole-GPU partitions"
show --emulate $node plan --demand 7g.40gb=5 || note "exit status $? (no space)"

say "What would a training job get from each partition, before one is cut?"
show predict resnet50 --training --batch 64 --board a100-sxm4-40gb

say "How many GPUs, and which, would a group need? Proven, from two files"
sed '/^#/d' "$here/docs/examples/demand.yaml"
show plan --fleet "$here/docs/examples/fleet.yaml" --demand "$here/docs/examples/demand.yaml"

say "Studies: which cut, which way of sharing? Simulated; all on one page"
studies=$here/build/studies.html
mkdir -p "$here/build"
show study --all -O "$studies" | sed '/^ /d; /^$/d; /^report: /d'   # the titles; the answers are in the report
note "open it in a browser; it needs no network: file://$studies"

say "56 users at work at once, each on a partition of its own, shut out of the other 55"
note "a daemon serves an emulated DGX A100; each user runs: partita run -p 1g.5gb -- CMD"
"$here/tools/demo_users.sh" "$partita"

printf '\n%sDone.%s The node still runs; look around:\n' "$bold" "$plain"
printf '  %s --emulate %s status -v\n  %s boards a100-sxm4-40gb\n  %s emulate stop %s     # removes it\n' \
  "${1#"$here"/}" $node "${1#"$here"/}" "${1#"$here"/}" $node
