-- Version 3: who asked for an action, and by which request, so that a request that is repeated after a lost answer is recognised.
-- `content` is a fingerprint of the request.
CREATE TABLE request (
    action INTEGER PRIMARY KEY REFERENCES action,
    who TEXT NOT NULL,
    key TEXT UNIQUE,
    content TEXT NOT NULL
) STRICT;

-- A fingerprint of what was learned, but for the ensemble, which has checksums of its own.
ALTER TABLE belief ADD COLUMN digest TEXT;
