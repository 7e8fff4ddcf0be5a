CREATE VIEW run AS
  SELECT record.number, trial.label, json_extract(trial.json, '$.kind') AS kind,
    record.repeat, record.outcome,
    json_extract(record.json, '$.around.began_unix_ns') AS began_unix_ns,
    json_extract(record.json, '$.sink.window_ns') AS window_ns,
    json_extract(record.json, '$.external.tool') AS tool
  FROM record JOIN trial ON trial.id = record.trial;
CREATE VIEW flow AS
  SELECT record.number, 'sink' AS at,
    json_extract(record.json, '$.sink.window_ns') AS window_ns,
    coalesce(json_extract(flow.value, '$.sends'), 0) AS sends,
    coalesce(json_extract(flow.value, '$.one_sided'), 0) AS one_sided,
    json_extract(flow.value, '$.bytes') AS bytes,
    json_extract(flow.value, '$.messages') AS messages
  FROM record, json_each(record.json, '$.sink.flows') AS flow
  UNION ALL
  SELECT record.number, 'source',
    json_extract(record.json, '$.source.window_ns'),
    coalesce(json_extract(flow.value, '$.sends'), 0),
    coalesce(json_extract(flow.value, '$.one_sided'), 0),
    json_extract(flow.value, '$.bytes'),
    json_extract(flow.value, '$.messages')
  FROM record, json_each(record.json, '$.source.flows') AS flow;
CREATE VIEW figure AS
  SELECT run.number, run.label, run.kind, run.repeat, run.tool, figure.key AS place,
    json_extract(figure.value, '$.name') AS name,
    json_extract(figure.value, '$.value') AS value,
    json_extract(figure.value, '$.unit') AS unit
  FROM run JOIN record ON record.number = run.number,
    json_each(record.json, '$.external.figures') AS figure
  WHERE run.outcome = 'done' AND run.tool IS NOT NULL;
CREATE VIEW goodput AS
  WITH at_end AS (
    SELECT number, at, max(sends) AS sends, max(one_sided) AS one_sided,
      sum(CASE WHEN sends = one_sided THEN bytes ELSE 0 END) * 8e9 / window_ns AS bps
    FROM flow WHERE window_ns > 0 GROUP BY number, at)
  SELECT run.number, run.label, run.kind, run.repeat,
    sink.bps + CASE WHEN sink.sends OR sink.one_sided
      THEN coalesce(source.bps, 0) ELSE 0 END AS goodput_bps,
    CASE WHEN sink.one_sided THEN sink.bps
      WHEN sink.sends THEN coalesce(source.bps, 0) ELSE 0 END AS back_bps
  FROM run JOIN at_end AS sink ON sink.number = run.number AND sink.at = 'sink'
    LEFT JOIN at_end AS source ON source.number = run.number AND source.at = 'source'
  WHERE run.outcome = 'done' AND run.tool IS NULL
    AND run.kind LIKE '%-stream'
  UNION ALL
  SELECT number, label, kind, repeat, value, NULL FROM figure
  WHERE place = 0 AND unit = 'bit/s' AND kind NOT LIKE 'memory-%'
    AND kind NOT LIKE '%-latency' AND kind NOT LIKE '%-rate' AND kind NOT LIKE '%-rr'
    AND kind <> 'tcp-connect';
CREATE VIEW memory_bandwidth AS
  SELECT run.number, run.label, run.kind, run.repeat,
    sum(CASE WHEN flow.sends = flow.one_sided THEN flow.bytes ELSE 0 END) * 1e9
      / flow.window_ns AS bytes_per_second
  FROM run JOIN flow ON flow.number = run.number AND flow.at = 'sink'
  WHERE run.outcome = 'done' AND run.tool IS NULL AND flow.window_ns > 0
    AND run.kind LIKE 'memory-%' AND run.kind <> 'memory-latency'
  GROUP BY run.number
  UNION ALL
  SELECT number, label, kind, repeat, value FROM figure
  WHERE place = 0 AND unit = 'B/s' AND kind LIKE 'memory-%' AND kind <> 'memory-latency';
CREATE VIEW round_trip AS
  WITH bucket AS (
    SELECT record.number, json_extract(b.value, '$[0]') AS edge_ns,
      sum(json_extract(b.value, '$[1]')) OVER (PARTITION BY record.number
        ORDER BY json_extract(b.value, '$[0]')) AS seen,
      sum(json_extract(b.value, '$[1]')) OVER (PARTITION BY record.number) AS trips
    FROM record, json_each(record.json, '$.source.round_trips') AS b)
  SELECT run.number, run.label, run.kind, run.repeat,
    (SELECT CASE WHEN trips >= 20 THEN min(edge_ns) END FROM bucket
      WHERE bucket.number = run.number AND 2 * seen >= trips) AS p50_ns,
    (SELECT sum(messages) * 1e9 / window_ns FROM flow
      WHERE flow.number = run.number AND flow.at = 'source' AND window_ns > 0)
      AS trips_per_second
  FROM run
  WHERE run.outcome = 'done' AND run.tool IS NULL AND run.window_ns > 0
    AND (run.kind LIKE '%-rr' OR run.kind = 'tcp-connect')
  UNION ALL
  SELECT number, label, kind, repeat, CASE unit WHEN 'ns' THEN value END,
    CASE unit WHEN '1/s' THEN value END FROM figure
  WHERE place = 0 AND unit = CASE kind WHEN 'tcp-connect' THEN '1/s' ELSE 'ns' END
    AND (kind LIKE '%-rr' OR kind = 'tcp-connect');
