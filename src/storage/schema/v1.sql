-- Counters stand beside the tables they count, kept by triggers, because an answer to a search
-- tells how much was searched and may not count a million rows for it.
CREATE TABLE state (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    store_id   TEXT NOT NULL,
    change     INTEGER NOT NULL,
    -- Changes up to this number can no longer be told apart: an index behind it starts from scratch.
    log_start  INTEGER NOT NULL,
    model      INTEGER REFERENCES models (id),
    documents  INTEGER NOT NULL,
    passages   INTEGER NOT NULL,
    tokens     INTEGER NOT NULL,
    skipped    INTEGER NOT NULL
) STRICT;

CREATE TABLE models (
    id    INTEGER PRIMARY KEY,
    name  TEXT NOT NULL,
    dim   INTEGER NOT NULL,
    UNIQUE (name, dim)
) STRICT;

-- What lists and filters need and nothing that is long: text and vectors have tables of their own.
CREATE TABLE documents (
    id            INTEGER PRIMARY KEY,
    source        TEXT NOT NULL UNIQUE,
    place         TEXT NOT NULL, -- the source as people read it, in lower case
    extension     TEXT,          -- lower case
    site          TEXT,          -- host of a page, lower case
    media_type    TEXT NOT NULL,
    layout        TEXT NOT NULL,
    has_lines     INTEGER NOT NULL,
    title         TEXT NOT NULL,
    content_hash  BLOB NOT NULL,
    bytes         INTEGER NOT NULL,
    modified      INTEGER,
    indexed_at    INTEGER NOT NULL,
    tokens        INTEGER NOT NULL,
    passages      INTEGER NOT NULL,
    model         INTEGER NOT NULL REFERENCES models (id),
    change        INTEGER NOT NULL
) STRICT;
CREATE INDEX documents_by_change ON documents (change);

CREATE TABLE bodies (
    document  INTEGER PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
    locators  TEXT NOT NULL, -- JSON
    text      TEXT NOT NULL
) STRICT;

CREATE TABLE passages (
    document      INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    ordinal       INTEGER NOT NULL,
    start         INTEGER NOT NULL, -- bytes of the text
    stop          INTEGER NOT NULL,
    tokens_start  INTEGER NOT NULL,
    tokens_stop   INTEGER NOT NULL,
    locator       TEXT,             -- JSON
    PRIMARY KEY (document, ordinal)
) STRICT, WITHOUT ROWID;

-- One row a document: the vectors of its passages in their order, little-endian binary16.
CREATE TABLE vectors (
    document  INTEGER PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
    rows      BLOB NOT NULL
) STRICT;

-- Documents that were removed and have not come back. With documents.change this is the whole
-- change log: one row a document, however often it changed.
CREATE TABLE removals (
    document  INTEGER PRIMARY KEY,
    change    INTEGER NOT NULL
) STRICT;
CREATE INDEX removals_by_change ON removals (change);

CREATE TABLE roots (
    source  TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE skipped (
    source        TEXT PRIMARY KEY,
    reason        TEXT NOT NULL,
    content_hash  BLOB,
    bytes         INTEGER,
    modified      INTEGER
) STRICT, WITHOUT ROWID;

INSERT INTO state VALUES (1, lower(hex(randomblob(16))), 0, 0, NULL, 0, 0, 0, 0);

CREATE TRIGGER documents_counted_in AFTER INSERT ON documents BEGIN
    UPDATE state SET documents = documents + 1, passages = passages + new.passages,
                     tokens = tokens + new.tokens;
END;
CREATE TRIGGER documents_counted_out AFTER DELETE ON documents BEGIN
    UPDATE state SET documents = documents - 1, passages = passages - old.passages,
                     tokens = tokens - old.tokens;
END;
CREATE TRIGGER skipped_counted_in AFTER INSERT ON skipped BEGIN
    UPDATE state SET skipped = skipped + 1;
END;
CREATE TRIGGER skipped_counted_out AFTER DELETE ON skipped BEGIN
    UPDATE state SET skipped = skipped - 1;
END;
