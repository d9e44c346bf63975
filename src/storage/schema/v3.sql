-- Answers that a person marked as right for a question, and what measuring search by them gave. They
-- name the source: a document's row goes and comes back with every new version of it.
CREATE TABLE stars (
    query       TEXT NOT NULL,
    source      TEXT NOT NULL,
    starred_at  INTEGER NOT NULL,
    PRIMARY KEY (query, source)
) STRICT, WITHOUT ROWID;

CREATE TABLE measurements (
    id              INTEGER PRIMARY KEY,
    at              INTEGER NOT NULL,
    model           TEXT NOT NULL,
    passages        INTEGER NOT NULL,
    queries         INTEGER NOT NULL,
    stars           INTEGER NOT NULL,
    recall_at_10    REAL NOT NULL,
    mrr_at_10       REAL NOT NULL,
    -- Share of the true neighbors that the vector index missed; NULL where there are no vectors.
    ann_gap_at_10   REAL,
    p50_ms          REAL NOT NULL,
    p95_ms          REAL NOT NULL
) STRICT;
