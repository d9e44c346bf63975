-- Web sites that a person chose, and how far their crawls are.
CREATE TABLE sites (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    start       TEXT NOT NULL UNIQUE, -- canonical URL
    rules       TEXT NOT NULL,        -- JSON
    -- Another one each time that the rules were changed.
    generation  INTEGER NOT NULL DEFAULT 0,
    added_at    INTEGER NOT NULL,
    paused      INTEGER NOT NULL DEFAULT 0,
    -- The number of the last crawl, from 1.
    crawl       INTEGER NOT NULL DEFAULT 0,
    begun_at    INTEGER,
    -- Empty while the crawl goes on, in whichever process.
    ended_at    INTEGER,
    -- When a crawl that could not go on is tried again; after its end, when the next begins by itself.
    next_at     INTEGER,
    -- Why it could not go on.
    trouble     TEXT,
    -- The crawl that has read robots.txt and the sitemaps, and what they said.
    seeded      INTEGER NOT NULL DEFAULT 0,
    findings    TEXT, -- JSON
    -- Pages that count against the limit.
    counted     INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The frontier, and what became of every page. Ids are in the order in which pages were found.
CREATE TABLE pages (
    id             INTEGER PRIMARY KEY,
    site           INTEGER NOT NULL REFERENCES sites (id) ON DELETE CASCADE,
    url            TEXT NOT NULL, -- canonical, the key of the source
    depth          INTEGER NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('queued', 'fetching', 'indexed', 'duplicate',
                       'redirected', 'skipped', 'failed', 'gone', 'beyond', 'removed')),
    reason         TEXT,
    target         TEXT,    -- where a redirect leads, or which page this one is a copy of
    status         INTEGER, -- of the last answer
    etag           TEXT,
    last_modified  TEXT,
    lastmod        INTEGER, -- of the sitemap
    content_hash   BLOB,    -- of the text, also of a copy
    bytes          INTEGER NOT NULL DEFAULT 0,
    attempts       INTEGER NOT NULL DEFAULT 0, -- in this crawl
    misses         INTEGER NOT NULL DEFAULT 0, -- crawls in a row that it was not there
    next_at        INTEGER NOT NULL DEFAULT 0,
    fetched_at     INTEGER,
    found_by       INTEGER, -- the page with the first link to it
    -- Whether the document of this address is this site's: of several sites the first has it.
    stored         INTEGER NOT NULL DEFAULT 0,
    counted        INTEGER NOT NULL DEFAULT 0,
    -- Crawls in which it was last settled, and its document last stored.
    settled_in     INTEGER NOT NULL DEFAULT 0,
    stored_in      INTEGER NOT NULL DEFAULT 0,
    -- Known, and not searchable although it may be.
    is_missing     INTEGER NOT NULL GENERATED ALWAYS AS
                       (NOT stored AND (state IN ('failed', 'skipped')
                                        OR (state IN ('queued', 'fetching') AND settled_in = 0))),
    UNIQUE (site, url)
) STRICT;
CREATE INDEX pages_by_state ON pages (site, state, depth, id);
CREATE INDEX pages_by_url ON pages (url);
CREATE INDEX pages_by_content ON pages (site, content_hash) WHERE content_hash IS NOT NULL;
CREATE INDEX pages_by_target ON pages (site, target) WHERE target IS NOT NULL;

-- Every search tells how much of what is known it has searched.
ALTER TABLE state ADD COLUMN pages_missing INTEGER NOT NULL DEFAULT 0;
CREATE TRIGGER pages_counted_in AFTER INSERT ON pages WHEN new.is_missing BEGIN
    UPDATE state SET pages_missing = pages_missing + 1;
END;
CREATE TRIGGER pages_counted_out AFTER DELETE ON pages WHEN old.is_missing BEGIN
    UPDATE state SET pages_missing = pages_missing - 1;
END;
CREATE TRIGGER pages_counted_over AFTER UPDATE ON pages WHEN new.is_missing <> old.is_missing BEGIN
    UPDATE state SET pages_missing = pages_missing + new.is_missing - old.is_missing;
END;
