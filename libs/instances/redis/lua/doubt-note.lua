--- Notes a doubt, or that it is still there.
--- KEYS[1] doubts  hash: key to '<since ms> <seen ms> <JSON>'
--- ARGV[1] key
--- ARGV[2] seen    ms
--- ARGV[3] json
--- ARGV[4] limit   doubts above which no other is noted
--- @return 1 when it was noted, else 0
local present = redis.call('HGET', KEYS[1], ARGV[1])
if not present and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then return 0 end
local since_ms = present and string.match(present, '^%d+') or ARGV[2]
redis.call('HSET', KEYS[1], ARGV[1], since_ms .. ' ' .. ARGV[2] .. ' ' .. ARGV[3])
return 1
