#!/usr/bin/env bash
# 56 users at work at once on an emulated DGX A100 cut into 8 x 7 partitions; each tries to open the partitions of all
# others. The end of ./dev demo.
# usage: demo_users.sh PARTITA
#
# As root each is another user (uid 20001 and up, who need no account) and the kernel decides: own capability nodes are
# real ones that no driver has (ENXIO: allowed, nobody there), others' are denied. Without root the emulated nodes are
# plain files: then only the leases are shown to be disjoint.
set -euo pipefail
partita=$(readlink -f "$1")
users=56 first_uid=20001
root_user=''
[ "$(id -u)" -eq 0 ] && root_user=yes

work=$(mktemp -d "${TMPDIR:-/tmp}/partita-demo-XXXXXX")
export PARTITA_EMULATED_ROOT=$work/nodes
daemon=''
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  if [ -n "$daemon" ]; then kill "$daemon" 2>/dev/null && wait "$daemon" 2>/dev/null; fi
  rm -rf "$work"
}
trap finish EXIT
mkdir -p "$work/nodes" "$work/results"
chmod 755 "$work" "$work/nodes"
chmod 1777 "$work/results"

cat >"$work/layout.yaml" <<'END'
version: v1
mig-configs:
  sevenths:
    - devices: all
      mig-enabled: true
      mig-devices: {1g.5gb: 7}
END

# What each user runs: says that it is there, waits for all others, then tries every capability node.
cat >"$work/user.sh" <<'END'
: >"$1/$PARTITA_LEASE.ready"
read -r _ <&9
exec 2>"$1/$PARTITA_LEASE.answers"
for node in "$PARTITA_EMULATED_NODE"/root/dev/nvidia-caps/nvidia-cap*; do
  { : <>"$node"; } && echo "$node: opened" >&2
done
exec 2>/dev/null
: >"$1/$PARTITA_LEASE.done"
read -r _ <&8
END

"$partita" --emulate team=dgx-a100 apply -f "$work/layout.yaml" | tail -n 1
"$partita" --emulate team serve >"$work/daemon.log" 2>&1 &
daemon=$!
for _ in $(seq 200); do
  grep -q '^partita serves' "$work/daemon.log" && break
  kill -0 "$daemon" 2>/dev/null || { cat "$work/daemon.log"; exit 1; }
  sleep 0.05
done

# wait_for SUFFIX: until there is such a file of every user.
wait_for() {
  local files
  for _ in $(seq 600); do
    files=("$work/results"/*"$1")
    [ ${#files[@]} -ge $users ] && [ -e "${files[0]}" ] && return 0
    sleep 0.05
  done
  echo "only ${#files[@]} of $users users came to work" >&2
  cat "$work"/results/*.error >&2 || true
  exit 1
}

# Two gates; one byte lets one user through.
mkfifo "$work/begin" "$work/end"
exec 9<>"$work/begin" 8<>"$work/end"
gate() { printf '\n%.0s' $(seq $users); }

started=$(date +%s%N)
for i in $(seq $users); do
  as_user=()
  [ -n "$root_user" ] && as_user=(setpriv --reuid=$((first_uid + i - 1)) --regid=$((first_uid + i - 1)) --clear-groups)
  "${as_user[@]}" "$partita" --emulate team run -p 1g.5gb --name "user-$i" -- \
    bash "$work/user.sh" "$work/results" 2>"$work/results/$i.error" &
  pids+=($!)
done
wait_for .ready
at_work=$(date +%s%N)
gate >&9
wait_for .done
"$partita" --emulate team status
"$partita" --emulate team -o json leases >"$work/leases.json"
gate >&8
for pid in "${pids[@]}"; do wait "$pid"; done

# From the leases: whose each capability node is. From the answers: who could open which.
awk -v users=$users -v isolated="$root_user" -v ms=$(((at_work - started) / 1000000)) '
  FILENAME ~ /leases.json$/ {
    if ($1 == "\"name\":") { gsub(/[",]/, "", $2); name = $2 }
    if ($1 == "\"path\":" && match($2, /nvidia-cap[0-9]+/)) {
      cap = substr($2, RSTART, RLENGTH)
      if (cap in owner) twice++
      owner[cap] = name
    }
    next
  }
  match($0, /nvidia-cap[0-9]+: /) {
    cap = substr($0, RSTART, RLENGTH - 2)
    user = FILENAME; sub(/.*\//, "", user); sub(/\.answers$/, "", user)
    if (!(cap in owner)) next
    mine = owner[cap] == user
    allowed = $0 ~ /No such device or address$|opened$/
    if (mine && allowed) own++
    if (mine && !allowed) shut_out++
    if (!mine && !allowed) { denied++; if ($0 ~ /Operation not permitted$/) by_filter++; else by_owner++ }
    if (!mine && allowed) { strayed++; reach[user, owner[cap]] = 1 }
    if (mine && allowed) reach[user, user] = 1
  }
  END {
    if (isolated) {
      print "\nwho (down) can open whose partition (across); two users in a line:"
      for (u = 1; u <= users; u += 2) {
        line = ""
        for (v = 1; v <= users; v++) {
          a = ("user-" u, "user-" v) in reach; b = ("user-" (u + 1), "user-" v) in reach
          line = line (a && b ? "█" : a ? "▀" : b ? "▄" : "·")
        }
        printf "  %-8s %s\n", "user-" u, line
      }
    }
    for (cap in owner) caps++
    printf "\n%d users at work at once after %d ms, %d capability nodes, none given twice: %s\n", users, ms, caps,
           twice ? "NO" : "yes"
    if (!isolated) { print "not root: the emulated nodes are plain files, which the kernel does not guard; as root it does"
                     exit twice ? 1 : 0 }
    printf "own nodes opened: %d of %d; of the other 55 users'"'"': %d opened, %d denied (%d by the device filter, %d by owner and mode)\n",
           own, 2 * users, strayed, denied, by_filter, by_owner
    exit twice || shut_out || strayed || own != 2 * users || denied != 2 * users * (users - 1)
  }' "$work/leases.json" "$work"/results/*.answers

"$partita" --emulate team leases
