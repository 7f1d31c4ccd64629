-- A record is a line "version state host updated_at_ms", host '-' for none, and a line of JSON that scripts need not read.
local function head(record)
  return string.match(record, '^(%d+) (%a+) (%S+) (%d+)\n')
end
-- The index is one sorted set by text: what an instance is found by, a zero, its uuid.
local function by(kind, name, uuid)
  return kind .. ':' .. name .. '\0' .. uuid
end
-- By its host, if it has one. By its state while it is not due: what is due is found by that, for a build goes through
-- its states too fast to be moved in the index for each.
local function by_host(host, uuid)
  return host ~= '-' and by('host', host, uuid)
end
local function by_state(state, is_due, uuid)
  return not is_due and by('state', state, uuid)
end
-- Entries may be false: none.
local function move(index, old_entry, entry)
  if old_entry == entry then return end
  if old_entry then redis.call('ZREM', index, old_entry) end
  if entry then redis.call('ZADD', index, 0, entry) end
end
