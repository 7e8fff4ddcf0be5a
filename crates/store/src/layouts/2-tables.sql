CREATE TABLE part(name TEXT PRIMARY KEY, json TEXT NOT NULL);
CREATE TABLE trial(
  id TEXT PRIMARY KEY,
  position INTEGER NOT NULL,
  label TEXT NOT NULL,
  json TEXT NOT NULL);
CREATE TABLE record(
  number INTEGER PRIMARY KEY,
  trial TEXT NOT NULL REFERENCES trial(id),
  repeat INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  json TEXT NOT NULL,
  UNIQUE(trial, repeat));
CREATE INDEX record_outcome ON record(trial, outcome);
CREATE TABLE session(number INTEGER PRIMARY KEY, json TEXT NOT NULL);
