"""What scripts/bench-vectors does in Python: vectors, peers, and the table.

    vector_peers.py prepare FOLDER TO ROWS            vectors for all systems to read
    vector_peers.py SYSTEM FOLDER ROWS THREADS        hnswlib, usearch-f32, usearch-i8: one JSON line
    vector_peers.py table REPORTS.jsonl               the reports of one run side by side
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

DIM = 384
K = 10
QUERIES = 1_000
M = 16
EF_CONSTRUCTION = 200
EFS = [16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048]
RECALLS = [0.95, 0.98, 0.99]

# Length of the noise that a perturbed copy is a unit vector and this much of: copies have a cosine of
# about 0.86 with their original and 0.73 with each other, as passages of one subject do.
NOISE = 0.6


def read(path):
    import numpy as np

    rows = np.fromfile(path, np.float16).reshape(-1, DIM).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def base_files(folder):
    return sorted(Path(folder).glob("base*.f16"), key=lambda path: int(path.stem[4:]))


def prepare(folder, to, rows):
    """Links the vectors, or writes them with perturbed copies, in parts as large as the first."""
    import numpy as np

    to = Path(to)
    to.mkdir(parents=True)
    files = base_files(folder)
    real = sum(path.stat().st_size for path in files) // (2 * DIM)
    for path in [*files, Path(folder) / "queries.f16"]:
        (to / path.name).symlink_to(path.resolve())
    if rows <= real:
        return
    print(f"{real} real vectors and {rows - real} perturbed copies of them", file=sys.stderr)
    random = np.random.default_rng(1)
    sources = [read(path) for path in files]
    part = len(files)
    left = rows - real
    while left > 0:
        original = sources[part % len(sources)][:left]
        noise = random.standard_normal(original.shape, dtype=np.float32)
        noise *= NOISE / np.linalg.norm(noise, axis=1, keepdims=True)
        copy = original + noise
        copy /= np.linalg.norm(copy, axis=1, keepdims=True)
        copy.astype(np.float16).tofile(to / f"base{part}.f16")
        left -= len(original)
        part += 1


def resident_bytes():
    with open("/proc/self/status", encoding="ascii") as status:
        kilobytes = next(line.split()[1] for line in status if line.startswith("VmRSS:"))
    return int(kilobytes) * 1024


def truth_of(base, queries):
    """The exact ten best, in pieces that fit the memory."""
    import numpy as np

    best = []
    for start in range(0, len(queries), 100):
        scores = queries[start : start + 100] @ base.T
        best.extend(np.argpartition(-scores, K, axis=1)[:, :K])
    return best


def recall_of(answers, truth):
    same = sum(len(set(a) & set(t)) for a, t in zip(answers, truth))
    return same / (K * len(truth))


def measure(system, folder, rows, threads):
    import numpy as np

    base = np.concatenate([read(path) for path in base_files(folder)])[:rows]
    queries = read(Path(folder) / "queries.f16")[:QUERIES]
    truth = truth_of(base, queries)
    before = resident_bytes()
    started = time.perf_counter()
    index, search, set_ef, save = PEERS[system](base, threads)
    build_seconds = time.perf_counter() - started
    memory = resident_bytes() - before
    points = []
    for ef in EFS:
        set_ef(ef)
        for query in queries[:100]:
            search(query)
        started = time.perf_counter()
        answers = [search(query) for query in queries]
        query_ms = (time.perf_counter() - started) * 1e3 / len(queries)
        points.append({"ef": ef, "recall": recall_of(answers, truth), "query_ms": query_ms})
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "index")
        save(path)
        disk, open_ms = os.path.getsize(path), None
        started = time.perf_counter()
        LOADERS[system](path)
        open_ms = (time.perf_counter() - started) * 1e3
    del index
    report = {
        "system": system,
        "rows": len(base),
        "threads": threads,
        "build_seconds": build_seconds,
        "open_ms": open_ms,
        "disk_bytes": disk,
        "memory_bytes": memory,
        "points": points,
    }
    print(json.dumps(report))


def build_hnswlib(base, threads):
    import hnswlib

    index = hnswlib.Index("ip", DIM)
    index.init_index(len(base), M=M, ef_construction=EF_CONSTRUCTION, random_seed=1)
    index.add_items(base, num_threads=threads)
    search = lambda query: index.knn_query(query, K, num_threads=1)[0][0]
    return index, search, index.set_ef, index.save_index


def load_hnswlib(path):
    import hnswlib

    index = hnswlib.Index("ip", DIM)
    index.load_index(path)


def usearch_index(dtype):
    from usearch.index import Index

    return Index(ndim=DIM, metric="ip", dtype=dtype, connectivity=M, expansion_add=EF_CONSTRUCTION)


def build_usearch(dtype):
    def build(base, threads):
        import numpy as np

        index = usearch_index(dtype)
        index.add(np.arange(len(base)), base, threads=threads)
        search = lambda query: index.search(query, K, threads=1).keys
        set_ef = lambda ef: setattr(index, "expansion_search", ef)
        return index, search, set_ef, index.save

    return build


def view_usearch(dtype):
    # Maps the file, as ours does.
    return lambda path: usearch_index(dtype).view(path)


PEERS = {
    "hnswlib": build_hnswlib,
    "usearch-f32": build_usearch("f32"),
    "usearch-i8": build_usearch("i8"),
}
LOADERS = {
    "hnswlib": load_hnswlib,
    "usearch-f32": view_usearch("f32"),
    "usearch-i8": view_usearch("i8"),
}


def time_at(points, recall):
    """Milliseconds a query at a recall, between the two points around it; None beyond the last."""
    points = sorted(points, key=lambda point: point["recall"])
    below = None
    for point in points:
        if point["recall"] >= recall:
            if below is None or point["recall"] == below["recall"]:
                return point["query_ms"]
            share = (recall - below["recall"]) / (point["recall"] - below["recall"])
            return below["query_ms"] + share * (point["query_ms"] - below["query_ms"])
        below = point
    return None


def merged(reports):
    """One report a system: of ours, building and opening are two."""
    systems = {}
    for report in reports:
        known = systems.setdefault(report["system"], {})
        told = {name: value for name, value in report.items() if value not in (None, [])}
        known.update({**told, "threads": max(known.get("threads", 1), report["threads"])})
    return list(systems.values())


def table(reports):
    systems = merged(reports)
    peer = next(system for system in systems if system["system"] == "hnswlib")
    head = f"{systems[0]['rows']} vectors, built by {systems[0]['threads']} thread(s), asked by one"
    recalls = [f"q/s at {recall:.2f} (of hnswlib)" for recall in RECALLS]
    lines = [head, "", "| " + " | ".join(["system", *recalls, "build s", "open ms", "MB disk", "MB memory"]) + " |"]
    lines.append("|---" * 8 + "|")
    for system in systems:
        cells = [system["system"]]
        for recall in RECALLS:
            ours, theirs = (time_at(s["points"], recall) for s in (system, peer))
            ratio = f" ({theirs / ours:.2f})" if ours and theirs else ""
            cells.append(f"{1e3 / ours:,.0f}{ratio}" if ours else "not reached")
        for name, scale in [("build_seconds", 1), ("open_ms", 1), ("disk_bytes", 1e6), ("memory_bytes", 1e6)]:
            value = system.get(name)
            cells.append("" if value is None else f"{value / scale:,.1f}")
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "| system | recall@10 at ms a query |", "|---|---|"]
    for system in systems:
        points = ", ".join(f"{p['recall']:.3f} at {p['query_ms']:.3f}" for p in system["points"])
        lines.append(f"| {system['system']} | {points} |")
    return "\n".join(lines)


def main(arguments):
    match arguments:
        case ["prepare", folder, to, rows]:
            prepare(folder, to, int(rows))
        case ["table", path]:
            with open(path, encoding="utf-8") as lines:
                print(table([json.loads(line) for line in lines if line.startswith("{")]))
        case [system, folder, rows, threads] if system in PEERS:
            measure(system, folder, int(rows), int(threads))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
