--- Keeps what was decided, and forgets the oldest above a number. Not a commit: mirrors do not see it.
---
--- KEYS[1] decisions        id -> bytes
--- KEYS[2] decided          instance or request -> id of its last decision
--- KEYS[3] decision ring    '<id> <uuid> <uuid> ...' of instances and request, the oldest first
--- ARGV[1] most             decisions that are kept
--- ARGV[2..] for each decision: '<id> <uuid> <uuid> ...' and its bytes
--- @return nothing

local most = tonumber(ARGV[1])
for i = 2, #ARGV, 2 do
  local line = ARGV[i]
  local id, uuids = string.match(line, '^(%S+) (.*)$')
  redis.call('HSET', KEYS[1], id, ARGV[i + 1])
  for uuid in string.gmatch(uuids, '%S+') do redis.call('HSET', KEYS[2], uuid, id) end
  redis.call('RPUSH', KEYS[3], line)
end
while redis.call('LLEN', KEYS[3]) > most do
  local id, uuids = string.match(redis.call('LPOP', KEYS[3]), '^(%S+) (.*)$')
  redis.call('HDEL', KEYS[1], id)
  for uuid in string.gmatch(uuids, '%S+') do
    if redis.call('HGET', KEYS[2], uuid) == id then redis.call('HDEL', KEYS[2], uuid) end
  end
end
