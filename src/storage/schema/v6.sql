-- Jobs that have ended, for people to look back at.
CREATE TABLE jobs (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    label       TEXT NOT NULL,
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER NOT NULL,
    outcome     TEXT NOT NULL CHECK (outcome IN ('done', 'cancelled', 'paused', 'failed')),
    documents   INTEGER NOT NULL, -- new or changed
    passages    INTEGER NOT NULL,
    tokens      INTEGER NOT NULL,
    trouble     INTEGER NOT NULL, -- sources that could not be had
    reason      TEXT
) STRICT;
