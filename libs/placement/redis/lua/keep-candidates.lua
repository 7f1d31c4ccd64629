--- Keeps candidates for a while, and at most so many: beyond that, those go first that expire first of the owner who has
--- most, so that nobody's are pushed out by one who asks for many. Not a commit.
---
--- KEYS[1] candidates          id -> content
--- KEYS[2] candidate expiry    id by when it expires, in milliseconds
--- KEYS[3] candidate owners    id -> owner
--- KEYS[4] candidates by owner owner, expiry and id
--- KEYS[5] candidate counts    owner by how many it has
--- ARGV[1] at_ms               now
--- ARGV[2] expires_at_ms       of those that are kept now
--- ARGV[3] most                candidates that are kept
--- ARGV[4] owner               any text
--- ARGV[5..] for each: its id and its content
--- @return nothing
--- @include candidates

-- Expired candidates go a few at a time: each call adds fewer, so they never pile up.
local EXPIRED_AT_ONCE = 1000

local keys = candidate_keys()
local owner = redis.sha1hex(ARGV[4])
for i = 5, #ARGV, 2 do
  local id = ARGV[i]
  if redis.call('HEXISTS', keys.contents, id) == 1 then drop_candidate(keys, id) end
  redis.call('HSET', keys.contents, id, ARGV[i + 1])
  redis.call('ZADD', keys.expiry, ARGV[2], id)
  redis.call('HSET', keys.owners, id, owner)
  redis.call('ZADD', keys.by_owner, 0, owned(owner, tonumber(ARGV[2]), id))
  redis.call('ZINCRBY', keys.counts, 1, owner)
end

for _, id in ipairs(redis.call('ZRANGEBYSCORE', keys.expiry, '-inf', ARGV[1], 'LIMIT', 0, EXPIRED_AT_ONCE)) do
  drop_candidate(keys, id)
end
for _ = 1, redis.call('ZCARD', keys.expiry) - tonumber(ARGV[3]) do
  local largest = redis.call('ZREVRANGE', keys.counts, 0, 0)[1]
  local first = redis.call('ZRANGEBYLEX', keys.by_owner, '[' .. largest .. ' ', '+', 'LIMIT', 0, 1)[1]
  drop_candidate(keys, string.match(first, '^%S+ %S+ (.*)$'))
end
