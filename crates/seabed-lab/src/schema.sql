-- Version 1; version 2 has the same tables, version 3 more (`version_3.sql`). Rows are added and never changed or removed, but for `action.undone` and what is derived (`belief`,
-- `unfinished`). `action.digest` is a fingerprint of all that the action wrote. A row is in force if its action is not undone.

CREATE TABLE campaign (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seed INTEGER NOT NULL
) STRICT;

CREATE TABLE action (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('new', 'add', 'propose', 'record', 'amend')),
    what TEXT NOT NULL,
    at TEXT NOT NULL,
    note TEXT NOT NULL,
    undone TEXT,
    digest TEXT
) STRICT;

CREATE TABLE variables (
    action INTEGER PRIMARY KEY REFERENCES action,
    text TEXT NOT NULL
) STRICT;

-- A data file.
CREATE TABLE source (
    id INTEGER PRIMARY KEY,
    action INTEGER NOT NULL REFERENCES action,
    file TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    rows INTEGER NOT NULL
) STRICT;

-- Its rows: cells are a JSON list in the order of the variables, null where a value is missing; targets are names
-- joined by `;`.
CREATE TABLE measured (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES source,
    targets TEXT NOT NULL,
    cells TEXT NOT NULL
) STRICT;

-- Derived: can be made anew from the rows in force. The ensemble is an .npz file, with the graphs if
-- the fit gave them.
CREATE TABLE belief (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    at TEXT NOT NULL,
    summary TEXT NOT NULL,
    ensemble BLOB NOT NULL
) STRICT;

-- Derived: fits that were stopped on their way.
CREATE TABLE unfinished (
    key TEXT PRIMARY KEY,
    state TEXT NOT NULL
) STRICT;

CREATE TABLE proposal (
    id INTEGER PRIMARY KEY,
    action INTEGER NOT NULL REFERENCES action,
    belief INTEGER NOT NULL REFERENCES belief,
    wishes TEXT NOT NULL,
    designed TEXT NOT NULL
) STRICT;

-- Proposed, or brought by the laboratory on its own (then without a proposal). Settings: JSON list of [name, value].
CREATE TABLE experiment (
    id INTEGER PRIMARY KEY,
    action INTEGER NOT NULL REFERENCES action,
    proposal INTEGER REFERENCES proposal,
    settings TEXT NOT NULL,
    replicates INTEGER NOT NULL CHECK (replicates >= 1)
) STRICT;

-- What happened to a replicate; of several records in force the latest counts.
CREATE TABLE record (
    id INTEGER PRIMARY KEY,
    action INTEGER NOT NULL REFERENCES action,
    experiment INTEGER NOT NULL REFERENCES experiment,
    replicate INTEGER NOT NULL CHECK (replicate >= 1),
    status TEXT NOT NULL CHECK (status IN ('done', 'failed', 'pending')),
    targets TEXT NOT NULL,
    cells TEXT NOT NULL,
    file TEXT NOT NULL
) STRICT;

CREATE INDEX measured_of_source ON measured (source);
CREATE INDEX experiment_of_action ON experiment (action);
CREATE INDEX record_of_action ON record (action);
CREATE INDEX record_of_experiment ON record (experiment, replicate);
