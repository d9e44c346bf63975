-- Passages and vectors belong to a document and a model, so that those of the next model can be made
-- while those of the model in use answer. Every document has them for the model in use.
ALTER TABLE state ADD COLUMN pending INTEGER REFERENCES models (id);

CREATE TABLE embedded (
    document  INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    model     INTEGER NOT NULL REFERENCES models (id),
    tokens    INTEGER NOT NULL,
    passages  INTEGER NOT NULL,
    -- The vectors of the passages in their order, little-endian binary16; empty when the model could
    -- make none, and the document is found by words alone.
    rows      BLOB NOT NULL,
    PRIMARY KEY (document, model)
) STRICT;
-- Answers alone what a switch asks: who is missing, and what the counters will be.
CREATE INDEX embedded_by_model ON embedded (model, document, passages, tokens);

-- A document of version 1 may have vectors of a model that is no longer in use. Its passages go on
-- answering by words, and its hash is forgotten, so that the next indexing run makes its vectors.
INSERT INTO embedded
    SELECT documents.id, state.model, documents.tokens, documents.passages,
           CASE WHEN documents.model = state.model THEN rows ELSE x'' END
    FROM documents JOIN vectors ON vectors.document = documents.id, state;
UPDATE documents SET content_hash = zeroblob(32) WHERE model <> (SELECT model FROM state);

ALTER TABLE passages RENAME TO passages_1;
CREATE TABLE passages (
    document      INTEGER NOT NULL,
    model         INTEGER NOT NULL,
    ordinal       INTEGER NOT NULL,
    start         INTEGER NOT NULL, -- bytes of the text
    stop          INTEGER NOT NULL,
    tokens_start  INTEGER NOT NULL,
    tokens_stop   INTEGER NOT NULL,
    locator       TEXT,             -- JSON
    PRIMARY KEY (document, model, ordinal),
    FOREIGN KEY (document, model) REFERENCES embedded (document, model) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO passages
    SELECT document, state.model, ordinal, start, stop, tokens_start, tokens_stop, locator
    FROM passages_1, state;
DROP TABLE passages_1;
DROP TABLE vectors;

DROP TRIGGER documents_counted_in;
DROP TRIGGER documents_counted_out;
ALTER TABLE documents DROP COLUMN tokens;
ALTER TABLE documents DROP COLUMN passages;
ALTER TABLE documents DROP COLUMN model;

CREATE TRIGGER documents_counted_in AFTER INSERT ON documents BEGIN
    UPDATE state SET documents = documents + 1;
END;
CREATE TRIGGER documents_counted_out AFTER DELETE ON documents BEGIN
    UPDATE state SET documents = documents - 1;
END;
CREATE TRIGGER embedded_counted_in AFTER INSERT ON embedded
WHEN new.model = (SELECT model FROM state) BEGIN
    UPDATE state SET passages = passages + new.passages, tokens = tokens + new.tokens;
END;
CREATE TRIGGER embedded_counted_out AFTER DELETE ON embedded
WHEN old.model = (SELECT model FROM state) BEGIN
    UPDATE state SET passages = passages - old.passages, tokens = tokens - old.tokens;
END;
