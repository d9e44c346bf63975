#!/usr/bin/env bash
# What scripts/bench-gpu runs, beside the programs that it has built; in the root of the repository.
set -euo pipefail

programs=$(dirname "${BASH_SOURCE[0]}")
export LODESTONE_TRACE=off
"$programs/gpu-tests" --ignored --exact --nocapture inference::backend::wgpu::tests::bench::bench_gpu
if python3 -c 'import sentence_transformers' 2>/dev/null; then
  python3 scripts/lib/gpu_peer.py "$programs/lode" assets/models/all-MiniLM-L6-v2
else
  echo "python3 has no sentence-transformers, so there is nothing to compare with"
fi
