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
