#!/usr/bin/env bash
# Runs one system on this machine in a virtual environment, which it creates if necessary.
#
#   launch/local.sh [--dry-run] [--venv=DIR] [--restarts=N] --config=configs/dict_mlm_50.py [...]
#
#   --dry-run      print the commands, run none
#   --venv=DIR     the environment (default: .venv)
#   --restarts=N   start the program again up to N times when it is killed (out of memory, a signal);
#                  it resumes from its last checkpoint (default: 0)
#
# Everything else goes to clwe_jax.main. An NVIDIA GPU is used when nvidia-smi finds one.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

dry_run=
venv=.venv
restarts=0
arguments=()
for argument in "$@"; do
  case $argument in
    --dry-run) dry_run=1 ;;
    --venv=*) venv=${argument#*=} ;;
    --restarts=*) restarts=${argument#*=} ;;
    -h | --help)
      sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *) arguments+=("$argument") ;;
  esac
done
if [[ " ${arguments[*]-} " != *" --config"* ]]; then
  echo "error: no system: give --config=FILE, e.g. --config=configs/dict_mlm_50.py" >&2
  exit 2
fi

say_and_do() {
  printf '+' >&2
  printf ' %q' "$@" >&2
  printf '\n' >&2
  [[ -n $dry_run ]] || "$@"
}

if [[ ! -x $venv/bin/python || -n $dry_run ]]; then
  extra=
  if command -v nvidia-smi >/dev/null && nvidia-smi >/dev/null 2>&1; then
    extra='[gpu]'
  fi
  say_and_do launch/worker.sh setup --venv="$venv" --extra="$extra"
fi

for ((attempt = 0; ; attempt++)); do
  status=0
  say_and_do "$venv/bin/python" -m clwe_jax.main "${arguments[@]}" || status=$?
  # A status above 128 means a signal; an error of the program would only occur again.
  if ((status <= 128 || status == 130 || attempt >= restarts)); then
    exit "$status"
  fi
  echo "Killed (exit $status); starting again, $((restarts - attempt)) times left." >&2
done
