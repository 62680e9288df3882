-- What happened between the agents' words: a screen makes iterations, checks and figures of these alone,
-- without reading the millions of events in which agents spoke.
CREATE INDEX events_landmarks ON events (run_id, seq) WHERE kind <> 'agent_acted';
