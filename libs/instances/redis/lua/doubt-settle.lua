--- Removes a doubt, unless it was seen later.
--- KEYS[1] doubts  hash: key to '<since ms> <seen ms> <JSON>'
--- ARGV[1] key
--- ARGV[2] seen    ms
--- @return 1 when it was removed, else 0
local seen_ms = string.match(redis.call('HGET', KEYS[1], ARGV[1]) or '', '^%d+ (%d+) ')
if not seen_ms or tonumber(seen_ms) > tonumber(ARGV[2]) then return 0 end
return redis.call('HDEL', KEYS[1], ARGV[1])
