-- keep: remember the id under which the server is asked for a job
INSERT INTO meta (name, value) VALUES ('claim', json_object('server_id', :server_id, 'claim_id', :claim_id))
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- kept: the remembered id, where it was for this server
SELECT json_extract(value, '$.claim_id') FROM meta
WHERE name = 'claim' AND json_extract(value, '$.server_id') = :server_id;

-- drop: forget the remembered id
DELETE FROM meta WHERE name = 'claim';
