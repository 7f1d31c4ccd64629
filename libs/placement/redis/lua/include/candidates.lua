-- Candidates by owner. Keys of a candidate: contents (id -> text), expiry (id by when it expires), owners (id -> owner),
-- by_owner (all of score 0: owner, expiry and id, so that one owner's stand together, those first that expire first), counts
-- (owner by how many it has).
local function candidate_keys()
  return { contents = KEYS[1], expiry = KEYS[2], owners = KEYS[3], by_owner = KEYS[4], counts = KEYS[5] }
end

local function owned(owner, expires_at_ms, id)
  return string.format('%s %016.0f %s', owner, expires_at_ms, id)
end

-- Forgets a candidate that is there.
local function drop_candidate(keys, id)
  local owner = redis.call('HGET', keys.owners, id)
  local expires_at_ms = tonumber(redis.call('ZSCORE', keys.expiry, id))
  redis.call('HDEL', keys.contents, id)
  redis.call('ZREM', keys.expiry, id)
  redis.call('HDEL', keys.owners, id)
  redis.call('ZREM', keys.by_owner, owned(owner, expires_at_ms, id))
  if tonumber(redis.call('ZINCRBY', keys.counts, -1, owner)) <= 0 then redis.call('ZREM', keys.counts, owner) end
end
