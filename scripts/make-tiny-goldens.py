#!/usr/bin/env python3
"""Makes tests/goldens/tiny-*.safetensors: encoders of random weights with what they are to compute.

usage: make-tiny-goldens.py [OUTPUT_DIR]
needs: pip install torch numpy safetensors

The forward passes here are written from the papers in double precision and share no code with the
library; run again, they write the same bytes. Each file holds the weights in f16 under the names that
transformers gives them, and beside them
    golden.ids      u8  [n_max]          one sequence of token ids
    golden.lengths  i32 [lengths]        how many of its first tokens go in
    golden.rows     f32 [lengths, width] the pooled row that comes out, not normalized

JinaBERT v2: Günther et al. 2023, and modeling_bert.py of jinaai/jina-bert-implementation, which settles
what the paper leaves open: `gated_layers` has no bias, GELU takes its first half, and the slopes of a
number of heads that is no power of two come in the order of Press et al. 2021.
"""

import math
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save

OUTPUT = Path(__file__).resolve().parent.parent / "tests" / "goldens"
VOCABULARY = 64
LAYERS = 2
EPSILON = 1e-12


@dataclass
class Shape:
    name: str
    seed: int
    width: int
    heads: int
    inner: int
    # Rows of the position table and the row of the first token, or ALiBi.
    positions: tuple[int, int] | None
    cls: bool
    token_types: int
    lengths: list[int]


# Every length up to beyond the 256 queries that one tile of attention holds, then beyond two.
EVERY = [*range(1, 261), 300, 511, 512, 513, 600]
SOME = [*range(1, 20), 31, 32, 33, 63, 64]
SHAPES = [
    Shape("jina-4-heads", 1, 32, 4, 48, None, False, 2, [*EVERY, 8192]),
    Shape("jina-6-heads", 2, 24, 6, 40, None, False, 2, EVERY),
    Shape("bge", 3, 32, 4, 64, (64, 0), True, 2, SOME),
    Shape("xlm-roberta", 4, 32, 4, 64, (66, 2), False, 1, SOME),
]


def make_weights(shape):
    random = np.random.default_rng(shape.seed)
    width, inner = shape.width, shape.inner
    weights = {}

    def matrix(name, outputs, inputs, scale):
        weights[name] = random.normal(0, scale / math.sqrt(inputs), (outputs, inputs))

    def linear(name, outputs, inputs, scale=1.0, bias=True):
        matrix(f"{name}.weight", outputs, inputs, scale)
        if bias:
            weights[f"{name}.bias"] = random.normal(0, 0.2, outputs)

    def norm(name):
        weights[f"{name}.weight"] = random.normal(1, 0.2, width)
        weights[f"{name}.bias"] = random.normal(0, 0.2, width)

    tables = [("word", VOCABULARY), ("token_type", shape.token_types)]
    if shape.positions:
        tables.append(("position", shape.positions[0]))
    for table, rows in tables:
        weights[f"embeddings.{table}_embeddings.weight"] = random.normal(0, 1, (rows, width))
    norm("embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        # Large enough that attention is far from uniform.
        linear(f"{at}.attention.self.query", width, width, 2.0)
        linear(f"{at}.attention.self.key", width, width, 2.0)
        linear(f"{at}.attention.self.value", width, width)
        linear(f"{at}.attention.output.dense", width, width)
        norm(f"{at}.attention.output.LayerNorm")
        if shape.positions:
            linear(f"{at}.intermediate.dense", inner, width)
            linear(f"{at}.output.dense", width, inner)
            norm(f"{at}.output.LayerNorm")
        else:
            linear(f"{at}.mlp.gated_layers", 2 * inner, width, bias=False)
            linear(f"{at}.mlp.wo", width, inner)
            norm(f"{at}.mlp.layernorm")
    return {name: array.astype(np.float16) for name, array in weights.items()}


def alibi_slopes(heads):
    """Press et al. 2021, in the recursive form in which the authors publish it."""

    def of_power(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if math.log2(heads).is_integer():
        return of_power(heads)
    closest = 2 ** math.floor(math.log2(heads))
    return of_power(closest) + alibi_slopes(2 * closest)[0::2][: heads - closest]


def norm(x, w, name):
    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(-1, keepdim=True)
    return (x - mean) / torch.sqrt(variance + EPSILON) * w[f"{name}.weight"] + w[f"{name}.bias"]


def linear(x, w, name):
    y = x @ w[f"{name}.weight"].T
    return y + w[f"{name}.bias"] if f"{name}.bias" in w else y


def gelu(x):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def attend(x, w, at, shape):
    n, head = x.shape[0], shape.width // shape.heads
    q, k, v = (linear(x, w, f"{at}.attention.self.{part}") for part in ("query", "key", "value"))
    slopes = [0.0] * shape.heads if shape.positions else alibi_slopes(shape.heads)
    place = torch.arange(n, dtype=torch.float64)
    mixed = []
    for index, slope in enumerate(slopes):
        part = slice(index * head, (index + 1) * head)
        scores = q[:, part] @ k[:, part].T / math.sqrt(head)
        if slope:
            scores -= slope * (place[:, None] - place[None, :]).abs()
        mixed.append(torch.softmax(scores, -1) @ v[:, part])
    return torch.cat(mixed, -1)


def forward(ids, w, shape):
    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.token_type_embeddings.weight"][0]
    if shape.positions:
        first = shape.positions[1]
        x = x + w["embeddings.position_embeddings.weight"][first : first + len(ids)]
    x = norm(x, w, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        mixed = linear(attend(x, w, at, shape), w, f"{at}.attention.output.dense")
        x = norm(mixed + x, w, f"{at}.attention.output.LayerNorm")
        if shape.positions:
            inner = gelu(linear(x, w, f"{at}.intermediate.dense"))
            x = norm(linear(inner, w, f"{at}.output.dense") + x, w, f"{at}.output.LayerNorm")
        else:
            both = linear(x, w, f"{at}.mlp.gated_layers")
            inner = gelu(both[:, : shape.inner]) * both[:, shape.inner :]
            x = norm(linear(inner, w, f"{at}.mlp.wo") + x, w, f"{at}.mlp.layernorm")
    return x[0] if shape.cls else x.mean(0)


def main():
    if len(sys.argv) > 2:
        raise SystemExit(__doc__)
    output = Path(sys.argv[1]) if len(sys.argv) == 2 else OUTPUT
    torch.set_num_threads(1)
    for shape in SHAPES:
        weights = make_weights(shape)
        exact = {name: torch.from_numpy(array.astype(np.float64)) for name, array in weights.items()}
        ids = np.random.default_rng(shape.seed).integers(0, VOCABULARY, max(shape.lengths))
        rows = [forward(torch.from_numpy(ids[:n]), exact, shape).numpy() for n in shape.lengths]
        golden = {
            "golden.ids": ids.astype(np.uint8),
            "golden.lengths": np.array(shape.lengths, dtype=np.int32),
            "golden.rows": np.stack(rows).astype(np.float32),
        }
        path = output / f"tiny-{shape.name}.safetensors"
        path.write_bytes(save({**weights, **golden}))
        print(f"{path}: {len(shape.lengths)} lengths, {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
