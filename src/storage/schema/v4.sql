-- What the encoder got for a passage: another passage of which it would get the same has the same
-- vector, wherever it stands. NULL where it is not known.
ALTER TABLE passages ADD COLUMN input BLOB;
CREATE INDEX passages_by_input ON passages (input, model) WHERE input IS NOT NULL;
-- A file that was renamed or copied.
CREATE INDEX documents_by_content ON documents (content_hash);

-- Vectors of documents that are too long to be embedded in one go, until they are committed.
CREATE TABLE spare_vectors (
    model   INTEGER NOT NULL REFERENCES models (id),
    input   BLOB NOT NULL,
    vector  BLOB NOT NULL, -- little-endian binary16
    PRIMARY KEY (model, input)
) STRICT, WITHOUT ROWID;

-- Modification time in nanoseconds of the file that a document was read from, so that an unchanged
-- file is not read again; NULL where that would not tell.
ALTER TABLE documents ADD COLUMN stamp INTEGER;
-- Of which generation the readers were that read it: another one may read more of it. The second reads
-- other files than these as the first did.
ALTER TABLE documents ADD COLUMN readers INTEGER;
UPDATE documents SET readers = 2 WHERE extension IS NULL OR extension NOT IN
    ('csv', 'eml', 'htm', 'html', 'ipynb', 'mbox', 'mht', 'mhtml', 'rtf', 'svg', 'tex', 'tsv', 'xhtml', 'xml');

-- Attempts: 0 for what cannot be indexed as it is, else how often it failed.
ALTER TABLE skipped ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
-- As that of a document; and of which generation the readers were that could not read it.
ALTER TABLE skipped ADD COLUMN stamp INTEGER;
ALTER TABLE skipped ADD COLUMN readers INTEGER;

ALTER TABLE roots ADD COLUMN watched INTEGER NOT NULL DEFAULT 1;
-- Whether another disk was mounted there: without it the folder is offline and not empty.
ALTER TABLE roots ADD COLUMN is_mount INTEGER NOT NULL DEFAULT 0;

-- Where below a root another disk was mounted, as is_mount of a root.
CREATE TABLE mounts (
    source  TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
-- What a person removed from a root that remains.
CREATE TABLE removed (
    source  TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- An indexing job that has not ended, and what it still has to do. Both outlive the process.
CREATE TABLE runs (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    paths     TEXT NOT NULL, -- JSON, sources
    only      TEXT,          -- JSON, the places below them that changed
    added_at  INTEGER NOT NULL
) STRICT;
CREATE TABLE queue (
    run       INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    source    TEXT NOT NULL,
    state     TEXT NOT NULL CHECK (state IN ('queued', 'extracting', 'embedded')),
    -- Smaller is sooner.
    place     INTEGER NOT NULL,
    attempts  INTEGER NOT NULL DEFAULT 0,
    bytes     INTEGER NOT NULL,
    modified  INTEGER,
    stamp     INTEGER,
    -- Another one each time that it was queued and looked otherwise.
    generation INTEGER NOT NULL,
    -- Nothing was known of it before.
    is_new    INTEGER NOT NULL,
    PRIMARY KEY (run, source)
) STRICT, WITHOUT ROWID;
CREATE INDEX queue_by_place ON queue (run, state, place, source);
CREATE INDEX queue_by_source ON queue (source);

-- Sources on the queue of which nothing was known before: a source is on the queue of one run only.
ALTER TABLE state ADD COLUMN queued_new INTEGER NOT NULL DEFAULT 0;
CREATE TRIGGER queue_counted_in AFTER INSERT ON queue WHEN new.is_new BEGIN
    UPDATE state SET queued_new = queued_new + 1;
END;
CREATE TRIGGER queue_counted_out AFTER DELETE ON queue WHEN old.is_new BEGIN
    UPDATE state SET queued_new = queued_new - 1;
END;
