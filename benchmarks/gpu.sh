#!/bin/sh
# Measures training at :base and searches on a GPU, each beside PyTorch on the same GPU in turns.
#
#   sh benchmarks/gpu.sh PYTHON     # an interpreter with torch and transformers
#
# It takes some ten minutes, most of them to compile. Both sides share the GPU's memory.
export XLA_PYTHON_CLIENT_MEM_FRACTION=${XLA_PYTHON_CLIENT_MEM_FRACTION:-.5}
peer=$(command -v "${1:?an interpreter with torch and transformers}") || exit
case $peer in /*) ;; *) peer=$PWD/$peer ;; esac
cd "$(dirname "$0")/.." || exit
failed=0
measure() {
  echo; echo "== $*"
  timeout 300 python3 "benchmarks/$@" --rounds=3 --peer-python="$peer" || failed=1
}
measure training_step.py --config=configs/dict_mlm_50.py:base --set=train.batch_size=64 --seconds=1
measure csls.py --words=200000
measure bilm.py --cells=4096 --width=512 --features=2048 --rows=256 --vocab=200000 --negatives=8192 --seconds=1
measure laser.py --config=configs/laser.py:base --set=train.batch_size=256 --length=32 --seconds=1
measure laser.py --config=configs/supervised_mt.py:base --set=train.batch_size=256 --length=32 --seconds=1
measure fine_tuning.py --width=768 --vocab=119552 --length=128 --rows=256 --seconds=1
exit $failed
