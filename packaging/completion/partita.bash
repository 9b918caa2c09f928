# bash completion of partita, made by "partita completion bash".
_partita_boards() { partita boards 2>/dev/null | sed '1d;/^ /d;/^$/d' | cut -d ' ' -f 1; }
_partita_nodes() { { partita emulate list; partita emulate types; } 2>/dev/null | sed '/^node /d;/^type /d;/^no /d' | cut -d ' ' -f 1 | sort -u; }
_partita_running() { partita emulate list 2>/dev/null | sed '/^node /d;/^no /d' | cut -d ' ' -f 1; }
_partita_types() { partita emulate types 2>/dev/null | sed 1d | cut -d ' ' -f 1; }
_partita_workloads() { partita predict --list 2>/dev/null | sed 1d | cut -d ' ' -f 1; }
_partita_studies() { partita study --list 2>/dev/null | sed '1d;/^ /d' | cut -d ' ' -f 1; }
_partita() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb= word i
  local with_value=" --emulate --server -o --output --output-format --data --gpu -f --config-file -c --selected-config --demand -k --hooks-file --fleet --output-dir --work --confirm --report --time-limit -l --config-label --checkpoint-file --output-file --format --memory --sms --workload --throughput --latency --batch --precision --count --name --for --same-gpu-as --at --board --compute --priority --label --user --grace -p --profile --lease --cpus --memory-limit --socket --listen --certificate --key --policy --requests --role --load --pid --node --calls --probability --seed --delay --xid --condition --measured-times --busy-after-exit --how --sequence --framework --optimizer --processes --host --share --measured --neighbours --constants --mapping --set -O --page --seconds --warmup --max-moves --gpus --columns --wait --migrate --mix --start --generations "
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    case $word in
      --) COMP_CWORD=$((COMP_CWORD - i)); compopt -o default; COMPREPLY=($(compgen -c -- "$cur")); return ;;
      -*) [[ $with_value == *" $word "* ]] && ((i++)) ;;
      *)
        if [[ -z $verb ]]; then verb=$word
        elif [[ $verb == token && " create list revoke " == *" $word "* ]]; then verb="token $word"
        elif [[ $verb == emulate && " start stop list types coverage reboot reset hold fault lose xid advance " == *" $word "* ]]; then verb="emulate $word"
        elif [[ $verb == predict && " fit validate " == *" $word "* ]]; then verb="predict $word"
        elif [[ $verb == policy && " simulate tune " == *" $word "* ]]; then verb="policy $word"
        fi ;;
    esac
  done
  case $verb:$prev in
    'status:--gpu') return ;;
    'plan:-f' | 'plan:--config-file') compopt -o default; return ;;
    'plan:-c' | 'plan:--selected-config') return ;;
    'plan:--demand') return ;;
    'plan:-k' | 'plan:--hooks-file') compopt -o default; return ;;
    'plan:--fleet') compopt -o default; return ;;
    'plan:--output-dir') compopt -o dirnames; return ;;
    'plan:--work') return ;;
    'plan:--confirm') return ;;
    'plan:--report') compopt -o default; return ;;
    'plan:--time-limit') return ;;
    'apply:-f' | 'apply:--config-file') compopt -o default; return ;;
    'apply:-c' | 'apply:--selected-config') return ;;
    'apply:--demand') return ;;
    'apply:-k' | 'apply:--hooks-file') compopt -o default; return ;;
    'assert:-f' | 'assert:--config-file') compopt -o default; return ;;
    'assert:-c' | 'assert:--selected-config') return ;;
    'export:-l' | 'export:--config-label') return ;;
    'checkpoint:-f' | 'checkpoint:--checkpoint-file') compopt -o default; return ;;
    'restore:-f' | 'restore:--checkpoint-file') compopt -o default; return ;;
    'restore:-k' | 'restore:--hooks-file') compopt -o default; return ;;
    'generate-config:--output-file') compopt -o default; return ;;
    'generate-config:-f' | 'generate-config:--format') COMPREPLY=($(compgen -W "json yaml" -- "$cur")); return ;;
    'lease:--memory') return ;;
    'lease:--sms') return ;;
    'lease:--workload') COMPREPLY=($(compgen -W "$(_partita_workloads)" -- "$cur")); return ;;
    'lease:--throughput') return ;;
    'lease:--latency') return ;;
    'lease:--batch') return ;;
    'lease:--precision') COMPREPLY=($(compgen -W "fp32 tf32 fp16 bf16 int8 fp8" -- "$cur")); return ;;
    'lease:--count') return ;;
    'lease:--name') return ;;
    'lease:--for') return ;;
    'lease:--same-gpu-as') return ;;
    'lease:--gpu') return ;;
    'lease:--at') return ;;
    'lease:--board') COMPREPLY=($(compgen -W "$(_partita_boards)" -- "$cur")); return ;;
    'lease:--compute') return ;;
    'lease:--priority') COMPREPLY=($(compgen -W "low normal high" -- "$cur")); return ;;
    'lease:--label') return ;;
    'leases:--user') return ;;
    'release:--grace') return ;;
    'renew:--for') return ;;
    'resize:--memory') return ;;
    'resize:--sms') return ;;
    'resize:--compute') return ;;
    'run:-p' | 'run:--profile') return ;;
    'run:-l' | 'run:--lease') return ;;
    'run:--memory') return ;;
    'run:--sms') return ;;
    'run:--workload') COMPREPLY=($(compgen -W "$(_partita_workloads)" -- "$cur")); return ;;
    'run:--throughput') return ;;
    'run:--latency') return ;;
    'run:--batch') return ;;
    'run:--precision') COMPREPLY=($(compgen -W "fp32 tf32 fp16 bf16 int8 fp8" -- "$cur")); return ;;
    'run:--name') return ;;
    'run:--for') return ;;
    'run:--same-gpu-as') return ;;
    'run:--gpu') return ;;
    'run:--at') return ;;
    'run:--board') COMPREPLY=($(compgen -W "$(_partita_boards)" -- "$cur")); return ;;
    'run:--compute') return ;;
    'run:--priority') COMPREPLY=($(compgen -W "low normal high" -- "$cur")); return ;;
    'run:--label') return ;;
    'run:--cpus') return ;;
    'run:--memory-limit') return ;;
    'serve:--socket') compopt -o default; return ;;
    'serve:--listen') return ;;
    'serve:--certificate') compopt -o default; return ;;
    'serve:--key') compopt -o default; return ;;
    'serve:--policy') compopt -o default; return ;;
    'serve:--requests') return ;;
    'token create:--role') COMPREPLY=($(compgen -W "viewer user administrator" -- "$cur")); return ;;
    'token create:--user') return ;;
    'token create:--for') return ;;
    'emulate reset:--gpu') return ;;
    'emulate hold:--memory') return ;;
    'emulate hold:--load') return ;;
    'emulate hold:--pid') return ;;
    'emulate hold:--node') COMPREPLY=($(compgen -W "$(_partita_running)" -- "$cur")); return ;;
    'emulate fault:--calls') return ;;
    'emulate fault:--gpu') return ;;
    'emulate fault:--probability') return ;;
    'emulate fault:--seed') return ;;
    'emulate fault:--delay') return ;;
    'emulate fault:--xid') return ;;
    'emulate fault:--condition') COMPREPLY=($(compgen -W "lost off-bus reset-required good" -- "$cur")); return ;;
    'emulate fault:--measured-times') return ;;
    'emulate fault:--busy-after-exit') return ;;
    'emulate fault:--node') COMPREPLY=($(compgen -W "$(_partita_running)" -- "$cur")); return ;;
    'emulate lose:--how') COMPREPLY=($(compgen -W "lost off-bus reset-required" -- "$cur")); return ;;
    'emulate xid:--node') COMPREPLY=($(compgen -W "$(_partita_running)" -- "$cur")); return ;;
    'predict:--batch') return ;;
    'predict:--board') COMPREPLY=($(compgen -W "$(_partita_boards)" -- "$cur")); return ;;
    'predict:--sequence') return ;;
    'predict:--precision') COMPREPLY=($(compgen -W "fp32 tf32 fp16 bf16 int8 fp8" -- "$cur")); return ;;
    'predict:--framework') COMPREPLY=($(compgen -W "eager_overlapped eager_serial graph" -- "$cur")); return ;;
    'predict:--optimizer') COMPREPLY=($(compgen -W "sgd sgd_momentum adam" -- "$cur")); return ;;
    'predict:--processes') return ;;
    'predict:--host') return ;;
    'predict:--throughput') return ;;
    'predict:--latency') return ;;
    'predict:--share') return ;;
    'predict:--measured') compopt -o default; return ;;
    'predict:--neighbours') return ;;
    'predict:--constants') compopt -o default; return ;;
    'predict fit:--mapping') compopt -o default; return ;;
    'predict fit:--set') return ;;
    'predict fit:--workload') compopt -o default; return ;;
    'predict fit:-O' | 'predict fit:--output-file') compopt -o default; return ;;
    'predict validate:--mapping') compopt -o default; return ;;
    'predict validate:--set') return ;;
    'predict validate:--workload') compopt -o default; return ;;
    'predict validate:--page') compopt -o default; return ;;
    'predict validate:--constants') compopt -o default; return ;;
    'study:-O' | 'study:--output-file') compopt -o default; return ;;
    'study:--format') COMPREPLY=($(compgen -W "html markdown json" -- "$cur")); return ;;
    'study:--seed') return ;;
    'study:--seconds') return ;;
    'study:--warmup') return ;;
    'defrag:--for') return ;;
    'defrag:--max-moves') return ;;
    'defrag:-O' | 'defrag:--output-file') compopt -o default; return ;;
    'policy simulate:--board') COMPREPLY=($(compgen -W "$(_partita_boards)" -- "$cur")); return ;;
    'policy simulate:--gpus') return ;;
    'policy simulate:--columns') return ;;
    'policy simulate:--policy') COMPREPLY=($(compgen -W "first-fit best-fit tight-fit least-fragmentation potential" -- "$cur")); return ;;
    'policy simulate:--wait') return ;;
    'policy simulate:--migrate') return ;;
    'policy simulate:-O' | 'policy simulate:--output-file') compopt -o default; return ;;
    'policy simulate:--format') COMPREPLY=($(compgen -W "html markdown json" -- "$cur")); return ;;
    'policy tune:--board') COMPREPLY=($(compgen -W "$(_partita_boards)" -- "$cur")); return ;;
    'policy tune:--gpus') return ;;
    'policy tune:--columns') return ;;
    'policy tune:--wait') return ;;
    'policy tune:--mix') return ;;
    'policy tune:--load') return ;;
    'policy tune:--start') compopt -o default; return ;;
    'policy tune:--generations') return ;;
    'policy tune:--requests') return ;;
    'policy tune:--seed') return ;;
    'policy tune:-O' | 'policy tune:--output-file') compopt -o default; return ;;
    *:--emulate) COMPREPLY=($(compgen -W "$(_partita_nodes)" -- "$cur")); return ;;
    *:--server) return ;;
    *:-o | *:--output | *:--output-format) COMPREPLY=($(compgen -W "table json yaml" -- "$cur")); return ;;
    *:--data) compopt -o dirnames; return ;;
  esac
  local options="--emulate --server -o --output --output-format --data --no-color -d --debug -h --help --version" words=
  case $verb in
    '') words="boards status plan apply assert export checkpoint restore generate-config lease leases release renew resize park unpark run serve token emulate predict study defrag policy doctor completion man" ;;
    'boards') options+=" " words="$(_partita_boards)" ;;
    'status') options+=" --gpu -v --verbose" words="" ;;
    'plan') options+=" -f --config-file -c --selected-config --demand -m --mode-only -s --skip-reset -k --hooks-file --adopt --force --fleet --explain --output-dir --work --confirm --report --time-limit" words="" ;;
    'apply') options+=" -f --config-file -c --selected-config --demand -m --mode-only -s --skip-reset -k --hooks-file --adopt --force --no-wait" words="" ;;
    'assert') options+=" -f --config-file -c --selected-config -m --mode-only -a --valid-config" words="" ;;
    'export') options+=" -l --config-label" words="" ;;
    'checkpoint') options+=" -f --checkpoint-file" words="" ;;
    'restore') options+=" -f --checkpoint-file -m --mode-only -s --skip-reset -k --hooks-file --adopt --force --no-wait" words="" ;;
    'generate-config') options+=" --output-file -f --format" words="" ;;
    'lease') options+=" --memory --sms --whole-gpu --workload --throughput --latency --batch --training --precision --count --name --for --exclusive-gpu --same-gpu-as --gpu --at --board --bare --compute --priority --label --no-wait" words="" ;;
    'leases') options+=" --user --ended --watch" words="" ;;
    'release') options+=" --grace --no-wait --force" words="" ;;
    'renew') options+=" --for --force" words="" ;;
    'resize') options+=" --memory --sms --compute --force" words="" ;;
    'park') options+=" --force" words="" ;;
    'unpark') options+=" --force" words="" ;;
    'run') options+=" -p --profile -l --lease --memory --sms --whole-gpu --workload --throughput --latency --batch --training --precision --name --for --exclusive-gpu --same-gpu-as --gpu --at --board --compute --priority --label --no-wait --cpus --memory-limit" words="" ;;
    'serve') options+=" --socket --listen --certificate --key --policy --requests" words="" ;;
    'token') options+=" " words="create list revoke" ;;
    'token create') options+=" --role --user --for" words="" ;;
    'token list') options+=" " words="" ;;
    'token revoke') options+=" " words="" ;;
    'emulate') options+=" --library-only" words="start stop list types coverage reboot reset hold fault lose xid advance $(_partita_nodes)" ;;
    'emulate start') options+=" " words="$(_partita_types)" ;;
    'emulate stop') options+=" " words="$(_partita_running)" ;;
    'emulate list') options+=" " words="" ;;
    'emulate types') options+=" " words="" ;;
    'emulate coverage') options+=" " words="" ;;
    'emulate reboot') options+=" --driver-only" words="$(_partita_running)" ;;
    'emulate reset') options+=" --gpu" words="$(_partita_running)" ;;
    'emulate hold') options+=" --memory --load --pid --library-only --node" words="" ;;
    'emulate fault') options+=" --calls --gpu --probability --seed --delay --xid --condition --measured-times --busy-after-exit --list --clear --catalogue --node" words="" ;;
    'emulate lose') options+=" --how --back" words="$(_partita_running)" ;;
    'emulate xid') options+=" --node" words="" ;;
    'emulate advance') options+=" " words="$(_partita_running)" ;;
    'predict') compopt -o default; options+=" --list --training --batch --board --sequence --precision --framework --optimizer --copy-inside --processes --host --throughput --latency --share --measured --virtualised --neighbours --whole-gpu --compute-instances --constants" words="fit validate $(_partita_workloads)" ;;
    'predict fit') compopt -o default; options+=" --mapping --set --workload -O --output-file" words="" ;;
    'predict validate') compopt -o default; options+=" --mapping --set --workload --page --constants" words="" ;;
    'study') compopt -o default; options+=" --list --all -O --output-file --format --seed --measure --seconds --warmup" words="$(_partita_studies)" ;;
    'defrag') options+=" --for --max-moves --leases -O --output-file" words="" ;;
    'policy') options+=" " words="simulate tune" ;;
    'policy simulate') compopt -o default; options+=" --board --gpus --columns --policy --wait --migrate --movable -O --output-file --format" words="" ;;
    'policy tune') compopt -o default; options+=" --board --gpus --columns --wait --mix --load --start --generations --requests --seed -O --output-file" words="" ;;
    'doctor') options+=" " words="" ;;
    'completion') options+=" " words="bash zsh fish" ;;
    'man') options+=" --markdown" words="" ;;
  esac
  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$cur"))
  else COMPREPLY=($(compgen -W "$words" -- "$cur")); fi
}
complete -F _partita partita
