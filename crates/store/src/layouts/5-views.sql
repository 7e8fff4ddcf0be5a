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
CREATE VIEW side AS
  WITH report AS (
    SELECT record.number, 'sink' AS at, trial.json AS trial,
      json_extract(record.json, '$.sink') AS own,
      json_extract(record.json, '$.source') AS other,
      1 AS looks
    FROM record JOIN trial ON trial.id = record.trial
    UNION ALL
    SELECT record.number, 'source', trial.json,
      json_extract(record.json, '$.source'), json_extract(record.json, '$.sink'),
      EXISTS (SELECT 1 FROM flow WHERE flow.number = record.number
        AND flow.at = 'sink' AND flow.sends = flow.one_sided)
      AND EXISTS (SELECT 1 FROM flow WHERE flow.number = record.number
        AND flow.at = 'source' AND flow.sends = flow.one_sided)
    FROM record JOIN trial ON trial.id = record.trial),
  told AS (
    SELECT number, at,
      json_extract(trial, '$.kind') LIKE 'tcp%' AS is_tcp,
      json_extract(trial, '$.params.message_bytes') AS message_bytes,
      json_extract(own, '$.window_ns') AS window_ns,
      json_extract(own, '$.looked_ns') AS looked_ns,
      json_extract(other, '$.window_ns') AS other_window_ns,
      json_extract(other, '$.looked_ns') AS other_looked_ns,
      json_extract(own, '$.effective.interface') AS interface,
      json_extract(other, '$.effective.interface') AS other_interface,
      CASE json_extract(own, '$.effective.ip') WHEN 'v6' THEN 40 ELSE 20 END AS ip_bytes,
      CASE json_extract(other, '$.effective.ip') WHEN 'v6' THEN 40 ELSE 20 END
        AS other_ip_bytes,
      coalesce(json_extract(own, '$.effective.receiver'), 'recv') AS receiver,
      json_extract(own, '$.effective.receive_buffer_bytes') AS buffer_bytes,
      own, other
    FROM report
    WHERE looks AND own IS NOT NULL
      AND json_extract(trial, '$.kind') LIKE '%-stream'
      AND json_extract(trial, '$.kind') NOT LIKE 'rdma-%'
      AND json_extract(trial, '$.path') <> 'imported'
      AND json_extract(own, '$.effective.rdma') IS NULL
      AND json_extract(other, '$.effective.rdma') IS NULL),
  counts AS (
    SELECT told.*,
      (SELECT count(*) FROM flow WHERE flow.number = told.number AND flow.at = told.at)
        AS flows,
      (SELECT sum(bytes) FROM flow WHERE flow.number = told.number AND flow.at = told.at
        AND sends = one_sided) AS counted_bytes,
      (SELECT value FROM json_each(own, '$.readings.interface')
        WHERE key = interface || '.rx_bytes') AS rx_bytes,
      (SELECT value FROM json_each(own, '$.readings.interface')
        WHERE key = interface || '.rx_packets') AS rx_packets,
      (SELECT value FROM json_each(other, '$.readings.interface')
        WHERE key = other_interface || '.tx_bytes') AS tx_bytes,
      (SELECT value FROM json_each(other, '$.readings.interface')
        WHERE key = other_interface || '.tx_packets') AS tx_packets,
      CASE WHEN is_tcp THEN (SELECT sum(value)
        FROM json_each(own, '$.readings."tcp-info"')
        WHERE key LIKE '%.received\_bytes' ESCAPE '\') END AS tcp_bytes,
      CASE WHEN NOT is_tcp THEN (SELECT sum(value)
        FROM json_each(own, '$.readings.socket')
        WHERE key LIKE '%.opening:waiting\_bytes' ESCAPE '\') END AS opening_bytes,
      (SELECT sum(value) FROM json_each(own, '$.readings.socket')
        WHERE key LIKE '%.waiting\_bytes' ESCAPE '\') AS closing_bytes
    FROM told),
  carried AS (
    SELECT counts.*, looked_ns IS NOT NULL AND rx_bytes IS NOT NULL
        AND rx_packets IS NOT NULL AS is_near,
      max(rx_bytes - rx_packets * (ip_bytes + CASE WHEN is_tcp THEN 20 ELSE 8 END), 0)
        AS near_bytes,
      CASE WHEN other_looked_ns IS NOT NULL THEN CAST(
        max(tx_bytes - tx_packets * (other_ip_bytes + CASE WHEN is_tcp THEN 20 ELSE 8 END), 0)
        * max(1.0, window_ns * 1.0 / max(other_window_ns, 1)) AS INTEGER) END AS far_bytes,
      CASE WHEN buffer_bytes IS NOT NULL THEN CAST(
        max(opening_bytes - max(closing_bytes - flows * (buffer_bytes / 4), 0), 0) * 1.0
        * message_bytes / max(message_bytes + CASE receiver WHEN 'gro' THEN 0 ELSE 512 END, 1)
        AS INTEGER) END AS backlog_at_most_bytes
    FROM counts),
  most AS (
    SELECT carried.*, CASE WHEN is_near THEN near_bytes ELSE far_bytes END AS carried_at_most_bytes,
      CASE WHEN is_near THEN 0.05 ELSE 0.10 END AS excess_max,
      flows * CASE WHEN is_tcp THEN 65536 ELSE 2 * message_bytes END AS read_bytes
    FROM carried),
  least AS (
    SELECT most.*,
      max(counted_bytes - min(coalesce(tcp_bytes, carried_at_most_bytes), carried_at_most_bytes)
        - read_bytes, 0) * 1.0
        / max(min(coalesce(tcp_bytes, carried_at_most_bytes), carried_at_most_bytes), 1)
        AS excess_share,
      max(counted_bytes - backlog_at_most_bytes, 0) AS least_bytes
    FROM most WHERE carried_at_most_bytes IS NOT NULL)
  SELECT number, at, window_ns, counted_bytes, carried_at_most_bytes, excess_share,
    excess_share > excess_max AS exceeds,
    CASE WHEN excess_share <= excess_max THEN counted_bytes
      WHEN tcp_bytes <= carried_at_most_bytes * 1.05 THEN min(tcp_bytes, counted_bytes)
      WHEN tcp_bytes IS NULL AND least_bytes <= carried_at_most_bytes * 1.05
      THEN min(counted_bytes, (min(least_bytes, carried_at_most_bytes)
        + max(least_bytes, carried_at_most_bytes)) / 2) END AS arrived_bytes
  FROM least;
CREATE VIEW goodput AS
  WITH at_end AS (
    SELECT number, at, max(sends) AS sends, max(one_sided) AS one_sided,
      sum(CASE WHEN sends = one_sided THEN bytes ELSE 0 END) * 8e9 / window_ns AS bps
    FROM flow WHERE window_ns > 0 GROUP BY number, at),
  backlog AS (
    SELECT number, max(arrived_bytes IS NULL) AS is_impossible,
      sum(CASE at WHEN 'sink' THEN 8e9 * (counted_bytes - arrived_bytes) / max(window_ns, 1)
        ELSE 0 END) AS sink_bps,
      sum(CASE at WHEN 'source' THEN 8e9 * (counted_bytes - arrived_bytes) / max(window_ns, 1)
        ELSE 0 END) AS source_bps
    FROM side GROUP BY number)
  SELECT run.number, run.label, run.kind, run.repeat,
    sink.bps + CASE WHEN sink.sends OR sink.one_sided
      THEN coalesce(source.bps, 0) ELSE 0 END
      - coalesce(backlog.sink_bps + backlog.source_bps, 0) AS goodput_bps,
    CASE WHEN sink.one_sided THEN sink.bps - coalesce(backlog.sink_bps, 0)
      WHEN sink.sends THEN coalesce(source.bps, 0) - coalesce(backlog.source_bps, 0)
      ELSE 0 END AS back_bps
  FROM run JOIN at_end AS sink ON sink.number = run.number AND sink.at = 'sink'
    LEFT JOIN at_end AS source ON source.number = run.number AND source.at = 'source'
    LEFT JOIN backlog ON backlog.number = run.number
  WHERE run.outcome = 'done' AND run.tool IS NULL
    AND run.kind LIKE '%-stream' AND NOT coalesce(backlog.is_impossible, 0)
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
