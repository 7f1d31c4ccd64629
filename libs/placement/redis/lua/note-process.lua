--- Notes that a process was seen; those not seen since a time go, and of too many the ones not seen for the longest. Not a
--- commit.
---
--- KEYS[1] processes       "service name" -> JSON
--- KEYS[2] process times   "service name" by when it was seen, in milliseconds
--- ARGV[1] id              of the process
--- ARGV[2] about           its JSON
--- ARGV[3] at_ms           now
--- ARGV[4] kept_since_ms   those not seen since then go
--- ARGV[5] most            processes that are kept
--- @return nothing

local function drop(ids)
  for _, id in ipairs(ids) do
    redis.call('HDEL', KEYS[1], id)
    redis.call('ZREM', KEYS[2], id)
  end
end

redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], 'GT', ARGV[3], ARGV[1])
drop(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', '(' .. ARGV[4]))
local above = redis.call('ZCARD', KEYS[2]) - tonumber(ARGV[5])
if above > 0 then drop(redis.call('ZRANGE', KEYS[2], 0, above - 1)) end
