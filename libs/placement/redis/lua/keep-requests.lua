--- Keeps allocation requests for a while, and at most so many: those that expire first go first. Not a commit.
---
--- KEYS[1] contents                    id -> bytes
--- KEYS[2] expiry                      id by when it expires, in milliseconds
--- ARGV[1] at_ms                       now
--- ARGV[2] expires_at_ms               of those that are kept now
--- ARGV[3] most                        requests that are kept
--- ARGV[4..] for each: its id and its content
--- @return nothing

-- Expired requests go a few at a time: each call adds fewer, so they never pile up.
local EXPIRED_AT_ONCE = 1000

local function drop(ids)
  for _, id in ipairs(ids) do
    redis.call('HDEL', KEYS[1], id)
    redis.call('ZREM', KEYS[2], id)
  end
end

for i = 4, #ARGV, 2 do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  redis.call('ZADD', KEYS[2], ARGV[2], ARGV[i])
end
drop(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', ARGV[1], 'LIMIT', 0, EXPIRED_AT_ONCE))
local above = redis.call('ZCARD', KEYS[2]) - tonumber(ARGV[3])
if above > 0 then drop(redis.call('ZRANGE', KEYS[2], 0, above - 1)) end
