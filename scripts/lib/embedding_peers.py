#!/usr/bin/env python3
"""The systems that scripts/bench-peers measures beside ours, each in a process of its own.

usage: embedding_peers.py MODEL_DIR ONNX_DIR          one row, named by the environment
       embedding_peers.py onnx MODEL_DIR OUTPUT_DIR   the model as ONNX Runtime reads it
       embedding_peers.py --rows                      the names of the rows
       embedding_peers.py --versions                  of the packages
       embedding_peers.py --cores                     a CPU of every core this process may use
needs: sentence-transformers, onnx, onnxruntime

A row reads LODESTONE_BENCH_ROW, LODESTONE_BENCH_TEXTS and LODESTONE_BENCH_QUERY, writes its vectors
to LODESTONE_BENCH_VECTORS and prints one line of JSON, as `cargo bench --bench embedding` does.
Heavy packages are imported where they are used, so that a row's memory is its own.
"""

import json
import os
import re
import resource
import sys
import time
from importlib.metadata import version
from pathlib import Path

TOKENS_MAX = 256
PACKAGES = ("torch", "sentence-transformers", "onnxruntime")

BATCH_SIZES = (8, 32)
CALIBRATION_TEXTS = 64
# A system that needs longer than this for all texts embeds the first, for about SLOW_PASS_SECONDS:
# bf16 is emulated where the processor lacks it.
PASS_SECONDS_MAX = 60.0
SLOW_PASS_SECONDS = 15.0
# As many as benches/embedding.rs has rounds.
PASSES = 3
QUERY_RUNS = 50


def load_tokenizer(model):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(Path(model) / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


# ONNX


def make_onnx(model, output):
    """Exports the encoder, without pooling, and quantizes its weights and activations to int8."""
    import onnx
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers.optimizer import optimize_model
    from transformers import AutoModel

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            # The fused attention of PyTorch has no counterpart among ONNX' operators.
            self.bert = AutoModel.from_pretrained(
                model, attn_implementation="eager", dtype=torch.float32
            ).eval()

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.bert(
                input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
            ).last_hidden_state

    output = Path(output)
    output.mkdir(parents=True, exist_ok=True)
    inputs = ["input_ids", "attention_mask", "token_type_ids"]
    example = torch.ones(2, 16, dtype=torch.long)
    torch.onnx.export(
        Encoder(),
        (example, example, example * 0),
        output / "exported.onnx",
        input_names=inputs,
        output_names=["hidden"],
        dynamic_axes={name: {0: "batch", 1: "tokens"} for name in [*inputs, "hidden"]},
        opset_version=17,
        dynamo=False,
    )
    # The runtime fuses less by itself than its own tool for transformers does.
    optimized = optimize_model(
        str(output / "exported.onnx"), model_type="bert", num_heads=12, hidden_size=384
    )
    optimized.save_model_to_file(str(output / "f32.onnx"))
    # A scale for each channel and weights of 7 bits, because processors without VNNI add two products
    # in 16 bits: with one scale and 8 bits the least cosine of 100 texts was 0.886, so it is 0.988.
    quantize_dynamic(
        output / "f32.onnx",
        output / "int8.onnx",
        weight_type=QuantType.QInt8,
        per_channel=True,
        reduce_range=True,
        # The fused operators are the runtime's own, and nothing says what type they give.
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )
    (output / "exported.onnx").unlink()


# Rows: each gives encode(texts, batch_size), which tokenizes, runs the model in batches of texts of
# similar length and returns unit vectors in the order of the texts.


def sentence_transformers(dtype):
    def load(model, _onnx, threads):
        import numpy as np
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(threads)
        encoder = SentenceTransformer(
            model, device="cpu", model_kwargs={"dtype": getattr(torch, dtype)}
        )
        encoder.max_seq_length = TOKENS_MAX

        def encode(texts, batch_size):
            vectors = encoder.encode(
                texts, batch_size=batch_size, normalize_embeddings=True, show_progress_bar=False
            )
            return vectors.astype(np.float32)

        return encode

    return load


def onnx_runtime(file):
    def load(model, onnx, threads):
        import numpy as np
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(
            str(Path(onnx) / file), options, providers=["CPUExecutionProvider"]
        )
        tokenizer = load_tokenizer(model)
        tokenizer.enable_truncation(TOKENS_MAX)

        def encode_batch(sequences):
            ids = np.zeros((len(sequences), max(map(len, sequences))), np.int64)
            mask = np.zeros_like(ids)
            for row, sequence in enumerate(sequences):
                ids[row, : len(sequence)] = sequence
                mask[row, : len(sequence)] = 1
            feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            (hidden,) = session.run(None, feeds)
            sums = (hidden * mask[:, :, None]).sum(axis=1)
            return sums / np.linalg.norm(sums, axis=1, keepdims=True)

        def encode(texts, batch_size):
            sequences = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
            order = sorted(range(len(texts)), key=lambda at: len(sequences[at]))
            vectors = np.zeros((len(texts), 384), np.float32)
            for start in range(0, len(order), batch_size):
                rows = order[start : start + batch_size]
                vectors[rows] = encode_batch([sequences[at] for at in rows])
            return vectors

        return encode

    return load


ROWS = {
    "sentence-transformers f32": sentence_transformers("float32"),
    "sentence-transformers bf16": sentence_transformers("bfloat16"),
    "ONNX Runtime f32": onnx_runtime("f32.onnx"),
    "ONNX Runtime int8": onnx_runtime("int8.onnx"),
}


def one_cpu_a_core():
    """Two threads of one core share what a kernel keeps busy, so a second one only disturbs it."""
    cpus = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        cpus.setdefault(siblings.read_text() if siblings.exists() else cpu, cpu)
    return cpus.values()


def seconds(run):
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def choose_pass(encode, texts):
    """The better batch size, and how many texts one pass embeds."""
    first = texts[: BATCH_SIZES[0]]
    encode(first, len(first))
    rate = len(first) / seconds(lambda: encode(first, len(first)))
    if len(texts) > rate * PASS_SECONDS_MAX:
        return len(first), max(len(first), int(rate * SLOW_PASS_SECONDS))
    sample = texts[:CALIBRATION_TEXTS]
    return min(BATCH_SIZES, key=lambda size: seconds(lambda: encode(sample, size))), len(texts)


def peak_bytes():
    """The most memory that was ever resident."""
    try:
        # ru_maxrss would include what the process was before exec.
        status = Path("/proc/self/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) * 1024
    except FileNotFoundError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def run_row(model, onnx):
    name = os.environ["LODESTONE_BENCH_ROW"]
    texts = json.loads(Path(os.environ["LODESTONE_BENCH_TEXTS"]).read_text())
    query = os.environ["LODESTONE_BENCH_QUERY"]
    encode = ROWS[name](model, onnx, len(os.sched_getaffinity(0)))

    batch_size, count = choose_pass(encode, texts)
    texts = texts[:count]
    vectors = None

    def embed_all():
        nonlocal vectors
        vectors = encode(texts, batch_size)

    pass_seconds = min(seconds(embed_all) for _ in range(PASSES))
    query_seconds = sorted(seconds(lambda: encode([query], 1)) for _ in range(QUERY_RUNS))
    peak = peak_bytes()

    tokenizer = load_tokenizer(model)
    tokens = sum(min(TOKENS_MAX, len(encoding.ids)) for encoding in tokenizer.encode_batch(texts))
    Path(os.environ["LODESTONE_BENCH_VECTORS"]).write_text(json.dumps(vectors.tolist()))
    measured = {
        "row": name,
        "tokens_per_second": tokens / pass_seconds,
        "query_ms": query_seconds[QUERY_RUNS // 2] * 1e3,
        "peak_bytes": peak,
        "batch_size": batch_size,
        "tokens": tokens,
    }
    print(json.dumps(measured))


def main():
    match sys.argv[1:]:
        case ["onnx", model, output]:
            make_onnx(model, output)
        case ["--rows"]:
            print(*ROWS, sep="\n")
        case ["--versions"]:
            print(", ".join(f"{package} {version(package)}" for package in PACKAGES))
        case ["--cores"]:
            print(*one_cpu_a_core(), sep=",")
        case [model, onnx] if not model.startswith("-"):
            run_row(model, onnx)
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
