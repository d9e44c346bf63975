#!/usr/bin/env python3
"""Prints what narrower numbers cost all-MiniLM-L6-v2: cosines with the vectors that f32 gives.

usage: measure-int8.py MODEL_DIR TEXTS_JSON [COUNT]
needs: pip install torch transformers tokenizers

The answer to "why is there no int8 kernel?". Only the linear layers of the encoder are narrowed, as a
kernel would narrow them; products are summed in f32, sums of int8 products are exact there as in i32.
TEXTS_JSON is what scripts/lib/bench_texts.py makes; the first COUNT texts (200) are embedded.
"""

import json
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import AutoModel

COUNT = 200
TOKENS_MAX = 256
GROUP = 64


def as_is(values):
    return values


def bf16(values):
    return values.to(torch.bfloat16).to(torch.float32)


def int8(values):
    """Rounded to 255 levels, the scale of each row its largest magnitude: one scale for a token's
    activations, one for the weights of an output channel."""
    scale = values.abs().amax(dim=-1, keepdim=True).clamp_min(1e-30) / 127.0
    return (values / scale).round() * scale


def int8_grouped(values):
    """The same with a scale for every GROUP values of a row."""
    grouped = values.unflatten(-1, (-1, GROUP))
    return int8(grouped).flatten(-2)


def int8_tensor(values):
    """The same with one scale for all."""
    return int8(values.flatten()).view_as(values)


# name, how weights are narrowed, how activations
VARIANTS = (
    ("bf16 weights", bf16, as_is),
    ("bf16 weights and activations", bf16, bf16),
    ("int8 weights, a scale a channel", int8, as_is),
    ("int8 weights and activations, one scale for the weights", int8_tensor, int8),
    ("int8 weights and activations, a scale a channel and a token", int8, int8),
    (f"int8 weights and activations, a scale every {GROUP}", int8_grouped, int8_grouped),
)


class Narrowed(torch.nn.Module):
    def __init__(self, linear, narrow_weights, narrow_activations):
        super().__init__()
        self.weights = narrow_weights(linear.weight.detach())
        self.bias = linear.bias
        self.narrow_activations = narrow_activations

    def forward(self, activations):
        return torch.nn.functional.linear(self.narrow_activations(activations), self.weights, self.bias)


def load(model_dir, narrow_weights=as_is, narrow_activations=as_is):
    model = AutoModel.from_pretrained(model_dir, dtype=torch.float32).eval()
    for layer in model.encoder.layer:
        linears = [name for name, part in layer.named_modules() if isinstance(part, torch.nn.Linear)]
        for name in linears:
            narrowed = Narrowed(layer.get_submodule(name), narrow_weights, narrow_activations)
            layer.set_submodule(name, narrowed)
    return model


def embed(model, sequences):
    """Unit vectors; one text at a time, so that no padding takes part in any scale."""
    vectors = []
    with torch.inference_mode():
        for sequence in sequences:
            hidden = model(input_ids=torch.tensor([sequence])).last_hidden_state[0]
            vectors.append(torch.nn.functional.normalize(hidden.mean(dim=0), dim=0))
    return torch.stack(vectors)


def main():
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    model_dir, count = sys.argv[1], int(sys.argv[3]) if len(sys.argv) == 4 else COUNT
    texts = json.loads(Path(sys.argv[2]).read_text())[:count]
    tokenizer = Tokenizer.from_file(str(Path(model_dir) / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS_MAX)
    sequences = [encoding.ids for encoding in tokenizer.encode_batch(texts)]

    reference = embed(load(model_dir), sequences)
    print(f"{len(texts)} texts, {sum(map(len, sequences))} tokens\n")
    print("| linear layers | cosine, least | cosine, mean |\n|---|---:|---:|")
    for name, narrow_weights, narrow_activations in VARIANTS:
        vectors = embed(load(model_dir, narrow_weights, narrow_activations), sequences)
        cosines = (vectors * reference).sum(dim=1)
        print(f"| {name} | {cosines.min():.5f} | {cosines.mean():.5f} |", flush=True)


if __name__ == "__main__":
    main()
