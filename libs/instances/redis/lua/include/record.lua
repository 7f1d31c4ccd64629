-- A record is a line "version state host updated_at_ms due_at_ms ...", '-' for no host and for never due, and a line of
-- JSON that scripts need not read.
local function head(record)
  local version, state, host, updated_at_ms, due_at_ms = string.match(record, '^(%d+) ([%a_]+) (%S+) (%d+) (%S+) ')
  return { version = tonumber(version), state = state, host = host, updated_at_ms = updated_at_ms, due_at_ms = due_at_ms }
end
-- A record as the outbox keeps it: never due, and without the bytes that end the line.
local function event_of(record)
  local words, rest = string.match(record, '^(%d+ [%a_]+ %S+ %d+ )[^\n]*(\n.*)$')
  return words .. '- ' .. rest
end
-- An index is one sorted set by text: what an instance is found by, a zero, its uuid.
local function by(kind, name, uuid)
  return kind .. ':' .. name .. '\0' .. uuid
end
-- By its host, if it has one.
local function by_host(head, uuid)
  return head.host ~= '-' and by('host', head.host, uuid)
end
-- By its state, unless it is due or active. Due instances are found by their due times, because a build changes its state
-- too often to be moved in the index each time; active ones are found among all, because most are active. Pending ones are
-- due, and in the index all the same: those who wait are counted.
local function by_state(head, uuid)
  local is_indexed = head.state == 'pending' or head.due_at_ms == '-' and head.state ~= 'active'
  return is_indexed and by('state', head.state, uuid)
end
-- True if it is forgotten when old: deleted, or in error with nothing left to do.
local function has_ended(head)
  return head.state == 'deleted' or head.state == 'error' and head.due_at_ms == '-'
end
