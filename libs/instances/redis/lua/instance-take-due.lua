--- Takes instances that are due, longest due first, and makes them due again later.
--- KEYS[1] due      sorted set: uuid by due time
--- KEYS[2] records  hash: uuid to record
--- ARGV[1] now
--- ARGV[2] next     when they are due again
--- ARGV[3] limit
--- @return records
local uuids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[3])
local records = {}
for n, uuid in ipairs(uuids) do
  redis.call('ZADD', KEYS[1], ARGV[2], uuid)
  records[n] = redis.call('HGET', KEYS[2], uuid)
end
return records
