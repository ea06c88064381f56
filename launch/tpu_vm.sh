#!/usr/bin/env bash
# Trains on a Cloud TPU slice: makes the slice, runs on every worker, resumes after preemption.
#
#   launch/tpu_vm.sh COMMAND --name=NAME --zone=ZONE [options] -- --config=... [...]
#
# Commands:
#   up       create, copy, install, run, then watch until the run has finished
#   create   make the slice            copy     copy this folder's code to every worker
#   install  install the code          run      start clwe_jax.main --multihost on every worker
#   watch    wait until the run has finished; delete a preempted slice and make it again
#   status   show slice and run        logs     show the end of worker 0's log
#   stop     save and exit; 'watch' and 'up' then end at once, and 'run' goes on
#   delete   the slice (the bucket stays)
#
# Options:
#   --type=TYPE        accelerator type (default: v3-256, the paper's 256 cores)
#   --version=VERSION  software of the slice (default: tpu-ubuntu2204-base)
#   --project=ID       project (default: gcloud's own)
#   --bucket=NAME      a Cloud Storage bucket, mounted at ~/share on every worker. All workers must
#                      see the checkpoints, and the checkpoints must outlive the slice, so the
#                      default --workdir is ~/share/runs/NAME
#   --spot             a cheaper slice, which may be preempted
#   --every=SECONDS    interval at which watch looks (default: 60)
#   --restarts=N       restarts of a run that fails on a healthy slice (default: 2)
#   --dry-run          print every command, run none
#
# The arguments after -- go to clwe_jax.main. Example:
#   launch/tpu_vm.sh up --name=dict-mlm-50 --zone=europe-west4-a --bucket=my-runs --spot -- \
#     --config=configs/dict_mlm_50.py:paper --config.data.tfds_dir=gs://my-tfds
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
  echo "error: $*" >&2
  exit 2
}

name='' zone='' type=v3-256 version=tpu-ubuntu2204-base project='' bucket='' spot=''
every=60 restarts=2
dry_run=''
arguments=()

command=${1:-}
shift || true
while (($#)); do
  case $1 in
    --name=*) name=${1#*=} ;;
    --zone=*) zone=${1#*=} ;;
    --type=*) type=${1#*=} ;;
    --version=*) version=${1#*=} ;;
    --project=*) project=${1#*=} ;;
    --bucket=*)
      bucket=${1#*=}
      bucket=${bucket#gs://}
      ;;
    --every=*) every=${1#*=} ;;
    --restarts=*) restarts=${1#*=} ;;
    --spot) spot=1 ;;
    --dry-run) dry_run=1 ;;
    --)
      shift
      arguments=("$@")
      break
      ;;
    *) fail "no such option: $1 (options of the program stand after --)" ;;
  esac
  shift
done

say() {
  printf '+' >&2
  printf ' %q' "$@" >&2
  printf '\n' >&2
}

say_and_do() {
  say "$@"
  [[ -n $dry_run ]] || "$@"
}

place=("--zone=$zone")
[[ -z $project ]] || place+=("--project=$project")

tpu() {
  local verb=$1
  shift
  say_and_do gcloud compute tpus tpu-vm "$verb" "$name" "${place[@]}" "$@"
}

# on WORKER COMMAND: WORKER is a number or 'all'.
on() {
  tpu ssh "--worker=$1" "--command=cd clwe_jax && $2"
}

create() {
  local options=("--accelerator-type=$type" "--version=$version")
  [[ -z $spot ]] || options+=(--spot)
  # The account of the workers needs permission to write to the bucket.
  [[ -z $bucket ]] || options+=("--scopes=https://www.googleapis.com/auth/cloud-platform")
  tpu create "${options[@]}"
}

# All files that git tracks or would track, including changes that are not committed.
copy() {
  local archive=${TMPDIR:-/tmp}/clwe_jax-$name.tar.gz
  pack "$archive" &&
    say_and_do gcloud compute tpus tpu-vm scp "$archive" "$name:clwe_jax.tar.gz" \
      "${place[@]}" --worker=all &&
    tpu ssh --worker=all --command="mkdir -p clwe_jax &&\
 tar --extract --gzip --file=clwe_jax.tar.gz --directory=clwe_jax"
}

pack() {
  say tar --create --gzip --file="$1" "the files of git ls-files"
  [[ -n $dry_run ]] ||
    git ls-files --cached --others --exclude-standard -z |
    tar --create --gzip --file="$1" --null --files-from=-
}

install() {
  on all "launch/worker.sh setup --extra='[tpu]'${bucket:+ --bucket=$bucket}"
}

run() {
  local line
  line=$(printf ' %q' --multihost "${arguments[@]}")
  if [[ "${arguments[*]}" != *--workdir* ]]; then
    [[ -n $bucket ]] ||
      fail "no folder for checkpoints: give --bucket=NAME, or --workdir=DIR (shared by all) after --"
    line+=" --workdir=\$HOME/share/runs/$name"
  fi
  on all "launch/worker.sh start$line"
}

# READY, PREEMPTED, ..., ABSENT when no such slice exists, UNKNOWN when gcloud fails.
slice_state() {
  local errors state
  errors=$(mktemp)
  if state=$(gcloud compute tpus tpu-vm describe "$name" "${place[@]}" \
    --format='value(state)' 2>"$errors"); then
    echo "$state"
  elif grep --quiet --ignore-case 'not.found' "$errors"; then
    echo ABSENT
  else
    cat "$errors" >&2
    echo UNKNOWN
  fi
  rm -f "$errors"
}

run_state() {
  gcloud compute tpus tpu-vm ssh "$name" "${place[@]}" "--worker=$1" \
    --command='test -d clwe_jax || { echo bare; exit; }; cd clwe_jax && launch/worker.sh state' \
    2>/dev/null || echo unreachable
}

watch() {
  if [[ -n $dry_run ]]; then
    echo "# every $every seconds:" >&2
    tpu describe '--format=value(state)'
    on 0 'launch/worker.sh state'
    echo "# when it was preempted:" >&2
    tpu delete --quiet
    start_everything
    return
  fi
  local state left=$restarts
  while true; do
    state=$(slice_state)
    case $state in
      READY) state="READY, run $(run_state 0)" ;;
    esac
    echo "$(date '+%F %T') $name: $state" >&2
    case $state in
      *finished)
        echo "The run has finished. The slice still costs money; delete it with:" \
          "launch/tpu_vm.sh delete --name=$name --zone=$zone" >&2
        return
        ;;
      *stopped)
        echo "The run was stopped. The slice still costs money; 'run' goes on, 'delete' ends it." >&2
        return
        ;;
      # During a preemption some workers stop before the others, and the others then fail.
      *failed*)
        echo "The end of the log of worker 0:" >&2
        on 0 'launch/worker.sh log 40' || true
        if ((left-- <= 0)); then
          echo "error: failed $((restarts + 1)) times in a row; giving up." >&2
          return 1
        fi
        again restart_all
        ;;
      # A worker that went down has lost its process, and all processes must start together.
      *idle | *killed | *interrupted) again restart_all ;;
      *bare) again copy_and_start ;;
      *running) left=$restarts ;;
      PREEMPTED | TERMINATED | STOPPED)
        tpu delete --quiet || true
        again start_everything
        ;;
      ABSENT) again start_everything ;;
    esac
    sleep "$every"
  done
}

again() { "$1" || echo "$1 failed; trying again in $every seconds." >&2; }
start_everything() { create && copy && install && run; }
copy_and_start() { copy && install && run; }
restart_all() {
  on all 'launch/worker.sh stop' || true
  install && run
}

up() {
  if [[ -n $dry_run ]]; then
    start_everything
  fi
  # An existing slice is used; watch makes an absent one.
  watch
}

status() {
  tpu describe '--format=value(state)'
  on all 'launch/worker.sh state'
}

case $command in
  up | create | copy | install | run | watch | status | logs | stop | delete) ;;
  -h | --help | help)
    sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
    exit 0
    ;;
  *) fail "no such command: ${command:-(none)}. See launch/tpu_vm.sh --help" ;;
esac
[[ -n $name ]] || fail "give the slice a name: --name=NAME"
[[ -n $zone ]] || fail "no zone: give --zone=ZONE, e.g. --zone=europe-west4-a"
case $command in
  up | run | watch)
    [[ " ${arguments[*]-} " == *" --config"* ]] || fail "no system: give -- --config=FILE"
    ;;
esac
case $command in
  logs) on 0 'launch/worker.sh log 100' ;;
  stop) on all 'launch/worker.sh stop --stay' ;;
  delete) tpu delete --quiet ;;
  *) "$command" ;;
esac
