--- Notes a doubt, or that it is still there.
--- KEYS[1] doubts  hash: key to '<since ms> <seen ms> <JSON>'
--- KEYS[2] shares  hash: key to the share that it counts in, '<kind> <source>'
--- KEYS[3] counts  hash: kind, and share, to how many there are
--- ARGV[1] key
--- ARGV[2] seen    ms
--- ARGV[3] json
--- ARGV[4] kind
--- ARGV[5] limit   of the kind, above which no other is noted
--- ARGV[6] share
--- ARGV[7] limit   of the share
--- @return 1 when it was noted, else 0
local present = redis.call('HGET', KEYS[1], ARGV[1])
if not present then
  local counts = redis.call('HMGET', KEYS[3], ARGV[4], ARGV[6])
  if tonumber(counts[1] or 0) >= tonumber(ARGV[5]) or tonumber(counts[2] or 0) >= tonumber(ARGV[7]) then return 0 end
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[6])
  redis.call('HINCRBY', KEYS[3], ARGV[4], 1)
  redis.call('HINCRBY', KEYS[3], ARGV[6], 1)
end
local since_ms = present and string.match(present, '^%d+') or ARGV[2]
redis.call('HSET', KEYS[1], ARGV[1], since_ms .. ' ' .. ARGV[2] .. ' ' .. ARGV[3])
return 1
