#!/usr/bin/env bash
# Installs and runs the project on one machine. The other scripts of this folder call it.
#
#   launch/worker.sh setup [--venv=DIR] [--extra='[tpu]'] [--bucket=NAME]
#                                    make the environment and install the project; with --bucket,
#                                    mount that Cloud Storage bucket at ~/share
#   launch/worker.sh start ARGS...   start clwe_jax.main ARGS in the background
#   launch/worker.sh state           idle, running, finished, interrupted (saved), failed N, killed;
#                                    stopped, after 'stop --stay'
#   launch/worker.sh log [LINES]     the end of its output
#   launch/worker.sh stop [--stay]   make it save and exit (SIGTERM), and wait for its end
#
# STATE_DIR (default: ~/.clwe_jax) holds log, pid and exit status of the last start.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
state_dir=${STATE_DIR:-$HOME/.clwe_jax}

setup() {
  local venv=.venv extra='' bucket='' argument
  for argument in "$@"; do
    case $argument in
      --venv=*) venv=${argument#*=} ;;
      --extra=*) extra=${argument#*=} ;;
      --bucket=*) bucket=${argument#*=} ;;
      *) usage "setup has no option $argument" ;;
    esac
  done
  if [[ ! -x $venv/bin/python ]]; then
    make_environment "$venv"
  fi
  "$venv/bin/python" -m pip install --quiet --editable ".${extra:-[train]}"
  if [[ -n $bucket ]] && ! mountpoint --quiet "$HOME/share"; then
    mount_bucket "$bucket"
  fi
}

# TPU images have Python 3.10, so uv installs 3.11 where neither 3.11 nor 3.12 exists.
make_environment() {
  local python
  for python in python3.11 python3.12 python3; do
    if "$python" -c 'import sys, venv, ensurepip
sys.exit(not (3, 11) <= sys.version_info < (3, 13))' 2>/dev/null; then
      "$python" -m venv "$1"
      return
    fi
  done
  python3 -m pip install --quiet --user uv
  python3 -m uv venv --quiet --seed --python 3.11 "$1"
}

mount_bucket() {
  if ! command -v gcsfuse >/dev/null; then
    local keys=/usr/share/keyrings/cloud.google.asc
    local packages=https://packages.cloud.google.com/apt
    curl --silent --fail "$packages/doc/apt-key.gpg" | sudo tee "$keys" >/dev/null
    echo "deb [signed-by=$keys] $packages gcsfuse-$(lsb_release -cs) main" |
      sudo tee /etc/apt/sources.list.d/gcsfuse.list >/dev/null
    sudo apt-get update --quiet --quiet
    sudo apt-get install --quiet --quiet --yes gcsfuse
  fi
  mkdir -p "$HOME/share"
  gcsfuse --implicit-dirs "$1" "$HOME/share"
}

start() {
  if [[ $(state) == running ]]; then
    echo "error: a run is under way (process $(<"$state_dir/pid")); stop it first" >&2
    exit 1
  fi
  mkdir -p "$state_dir"
  rm -f "$state_dir/exit" "$state_dir/pid" "$state_dir/stay"
  # The background shell outlives this one and records the exit status of the program.
  # shellcheck disable=SC2016  # expanded by that shell
  setsid nohup bash -c '
    state_dir=$1
    shift
    "$@" &
    echo $! >"$state_dir/pid"
    wait $!
    echo $? >"$state_dir/exit.new" && mv "$state_dir/exit.new" "$state_dir/exit"
  ' run "$state_dir" "${PYTHON:-.venv/bin/python}" -m clwe_jax.main "$@" \
    >"$state_dir/log" 2>&1 </dev/null &
  for ((i = 0; i < 100; i++)); do
    [[ -s $state_dir/pid ]] && return
    sleep 0.1
  done
  echo "error: the program did not start; see $state_dir/log" >&2
  exit 1
}

state() {
  if [[ -s $state_dir/exit ]]; then
    local status
    status=$(<"$state_dir/exit")
    case $status in
      0) echo finished ;;
      75) stopped_or interrupted ;;
      *) stopped_or "failed $status" ;;
    esac
  elif [[ ! -s $state_dir/pid ]]; then
    stopped_or idle
  elif alive; then
    echo running
  else
    # The exit status appears a moment after the end; without one the machine went down.
    sleep 1
    if [[ -s $state_dir/exit ]]; then state; else stopped_or killed; fi
  fi
}

# 'stopped' where 'stop --stay' has been called since the last start, else the given state.
stopped_or() { if [[ -e $state_dir/stay ]]; then echo stopped; else echo "$1"; fi; }

# After a restart of the machine another program may have this process id.
alive() {
  # -ww prints the complete command line for any terminal width.
  [[ $(ps -ww -o args= -p "$(<"$state_dir/pid")" 2>/dev/null) == *clwe_jax.main* ]]
}

stop() {
  [[ ${1:-} != --stay ]] || { mkdir -p "$state_dir" && touch "$state_dir/stay"; }
  if [[ $(state) == running ]]; then
    kill -TERM "$(<"$state_dir/pid")"
    while [[ $(state) == running ]]; do sleep 1; done
  fi
  state
}

usage() {
  [[ -z ${1:-} ]] || echo "error: $1" >&2
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
  exit 2
}

command=${1:-}
shift || true
case $command in
  setup | start | state | stop) "$command" "$@" ;;
  log) tail -n "${1:-40}" "$state_dir/log" ;;
  *) usage "no such command: ${command:-(none)}" ;;
esac
