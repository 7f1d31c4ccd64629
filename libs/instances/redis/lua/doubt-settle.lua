--- Removes a doubt, unless it was seen later.
--- KEYS[1] doubts  hash: key to '<since ms> <seen ms> <JSON>'
--- KEYS[2] shares  hash: key to the share that it counts in, '<kind> <source>'
--- KEYS[3] counts  hash: kind, and share, to how many there are
--- ARGV[1] key
--- ARGV[2] seen    ms
--- @return 1 when it was removed, else 0
local seen_ms = string.match(redis.call('HGET', KEYS[1], ARGV[1]) or '', '^%d+ (%d+) ')
if not seen_ms or tonumber(seen_ms) > tonumber(ARGV[2]) then return 0 end
-- Doubts of an older version count in no share.
local share = redis.call('HGET', KEYS[2], ARGV[1])
for _, field in ipairs(share and { share, string.match(share, '^%S+') } or {}) do
  if redis.call('HINCRBY', KEYS[3], field, -1) <= 0 then redis.call('HDEL', KEYS[3], field) end
end
redis.call('HDEL', KEYS[2], ARGV[1])
return redis.call('HDEL', KEYS[1], ARGV[1])
