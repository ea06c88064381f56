#!/usr/bin/env bash
#SBATCH --job-name=clwe_jax
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=clwe_jax-%j.log
#SBATCH --signal=B:TERM@300
#
# Trains on a Slurm cluster, one process on each node. At its time limit or when it is preempted, the
# job saves and queues itself again.
#
#   sbatch --nodes=4 --gpus-per-node=8 --time=12:00:00 launch/slurm.sh --config=... --workdir=DIR
#   launch/slurm.sh --dry-run ...    print the commands of the job, run none
#
# Start it in the project's folder. All nodes must see --workdir. PYTHON is the interpreter of the
# environment (default: .venv/bin/python, which launch/worker.sh setup makes).
set -euo pipefail

# sbatch runs a copy of this file, so the project is the folder of the submission.
cd "${SLURM_SUBMIT_DIR:-$(dirname "${BASH_SOURCE[0]}")/..}"

dry_run=
arguments=()
for argument in "$@"; do
  case $argument in
    --dry-run) dry_run=1 ;;
    *) arguments+=("$argument") ;;
  esac
done
if [[ " ${arguments[*]-} " != *" --config"* || " ${arguments[*]-} " != *" --workdir"* ]]; then
  echo "error: give --config=FILE and --workdir=DIR (a folder that every node sees)" >&2
  exit 2
fi
if [[ -z ${SLURM_JOB_ID:-} && -z $dry_run ]]; then
  echo "error: not in a Slurm job. Submit it: sbatch launch/slurm.sh ${arguments[*]}" >&2
  exit 2
fi
python=${PYTHON:-.venv/bin/python}

say() {
  printf '+' >&2
  printf ' %q' "$@" >&2
  printf '\n' >&2
}

# In a Slurm step jax takes one GPU a process by default; here a process takes all GPUs of its node.
gpus=${SLURM_GPUS_ON_NODE:-0}
if ((gpus > 0)); then
  JAX_LOCAL_DEVICE_IDS=$(seq --separator=, 0 $((gpus - 1)))
  export JAX_LOCAL_DEVICE_IDS
  say export "JAX_LOCAL_DEVICE_IDS=$JAX_LOCAL_DEVICE_IDS"
fi
step=(srun --ntasks-per-node=1 --kill-on-bad-exit=1 "$python" -m clwe_jax.main --multihost
  "${arguments[@]}")
save=(scancel --signal=TERM "${SLURM_JOB_ID:-JOB}") # to the step, not to this shell
requeue=(scontrol requeue "${SLURM_JOB_ID:-JOB}")

if [[ -n $dry_run ]]; then
  say "${step[@]}"
  echo "# on SIGTERM (time limit or preemption):" >&2
  say "${save[@]}"
  say "${requeue[@]}"
  exit 0
fi

interrupted=
trap 'interrupted=1; say "${save[@]}"; "${save[@]}" || true' TERM

say "${step[@]}"
"${step[@]}" &
while true; do
  status=0
  wait $! || status=$?
  # A signal ends `wait` but not the step.
  kill -0 $! 2>/dev/null || break
done
# Status 75 means saved but not finished.
if [[ -n $interrupted || $status == 75 ]]; then
  say "${requeue[@]}"
  exec "${requeue[@]}"
fi
exit "$status"
