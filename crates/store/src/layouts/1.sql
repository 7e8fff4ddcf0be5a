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
CREATE VIEW run AS
  SELECT record.number, trial.label, record.repeat, record.outcome,
    json_extract(record.json, '$.around.began_unix_ns') AS began_unix_ns,
    json_extract(record.json, '$.sink.window_ns') AS window_ns
  FROM record JOIN trial ON trial.id = record.trial;
CREATE VIEW goodput AS
  SELECT record.number, trial.label, record.repeat,
    sum(json_extract(flow.value, '$.bytes')) * 8e9
      / json_extract(record.json, '$.sink.window_ns') AS goodput_bps
  FROM record JOIN trial ON trial.id = record.trial,
    json_each(record.json, '$.sink.flows') AS flow
  WHERE record.outcome = 'done'
  GROUP BY record.number;
