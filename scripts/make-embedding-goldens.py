#!/usr/bin/env python3
"""Makes tests/goldens/minilm.json: what sentence-transformers says of texts that are easy to get wrong.

usage: make-embedding-goldens.py MODEL_DIR [OUTPUT]
needs: pip install sentence-transformers

MODEL_DIR is the original f32 model (see make-bundled-model.py), so that the goldens also measure
what rounding the bundled model to f16 costs.
"""

import json
import sys
from pathlib import Path

import sentence_transformers
import torch
import transformers
from sentence_transformers import SentenceTransformer

OUTPUT = Path(__file__).resolve().parent.parent / "tests" / "goldens" / "minilm.json"
TOKENS_MAX = 256
# f32 carries no more than 9 digits; 7 after the point keep a cosine exact to 1e-7.
DIGITS = 7

PARAGRAPH = (
    "Shared-state concurrency lets several threads read and write the same data. In Rust a value "
    "that has more than one owner is wrapped in an Arc, an atomically reference counted pointer, "
    "and a value that more than one thread may change is guarded by a Mutex. A thread asks for the "
    "lock, works on the data through the guard that it receives, and gives the lock back when the "
    "guard goes out of scope. "
)
CODE = """\
fn parse(line: &str) -> Result<(u32, Vec<&str>), ParseError> {
    let (head, tail) = line.split_once(": ").ok_or(ParseError::NoColon)?;
    Ok((head.trim().parse()?, tail.split(',').collect()))
}
"""

# (name, text); the name says what goes wrong when only this one differs.
TEXTS = [
    ("one word", "ownership"),
    ("query", "How do I share ownership between threads?"),
    ("white space only", " \n\t "),
    ("one punctuation mark", "."),
    ("accents, composed and decomposed", "Größe, café, cafe\u0301, naïve Ångström, ŁÓDŹ"),
    ("scripts without spaces", "東京都の人口は約一千四百万人です。 北京 서울 แมว"),
    ("symbols and emoji", "€5 ± ½ → ∞ 👩‍💻 \u200bzero\u00a0width\ufeff end"),
    ("code", CODE),
    ("numbers, paths, addresses", "v1.2.3-rc4 0x7fff /usr/lib/x.so a_b@example.org https://example.org/?q=1&r=%20"),
    ("a word too long for the vocabulary", "start " + "abcdefghij" * 12 + " end"),
    ("a paragraph", PARAGRAPH.strip()),
    ("longer than the model reads", PARAGRAPH * 4 + "This end lies beyond the limit and must not count."),
]


def main():
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    output = Path(sys.argv[2]) if len(sys.argv) == 3 else OUTPUT
    torch.set_num_threads(1)
    model = SentenceTransformer(sys.argv[1], device="cpu", model_kwargs={"dtype": torch.float32})
    model.max_seq_length = TOKENS_MAX

    cases = []
    for name, text in TEXTS:
        # One at a time: a batch is padded, and padding moves the last digits.
        embedding = model.encode(text, normalize_embeddings=True)
        ids = model.tokenizer(text, truncation=True, max_length=TOKENS_MAX)["input_ids"]
        cases.append(
            {
                "name": name,
                "text": text,
                "ids": ids,
                "embedding": [round(float(value), DIGITS) for value in embedding],
            }
        )

    made_with = {
        "sentence-transformers": sentence_transformers.__version__,
        "transformers": transformers.__version__,
        "torch": torch.__version__.split("+")[0],
    }
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("w", encoding="utf-8") as file:
        head = {"model": "all-MiniLM-L6-v2", "tokens_max": TOKENS_MAX, "made_with": made_with}
        file.write(json.dumps(head)[:-1] + ', "cases": [\n')
        # Escaped, so that no editor composes an accent or drops a character that it does not show.
        file.write(",\n".join(json.dumps(case) for case in cases))
        file.write("\n]}\n")
    print(f"{output}: {len(cases)} texts, {output.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
