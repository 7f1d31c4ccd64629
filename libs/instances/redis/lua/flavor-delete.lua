--- Deletes a flavor.
--- KEYS[1] flavors  hash: name to record
--- ARGV[1] name
--- @return its record, or nothing when there was none
local record = redis.call('HGET', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[1], ARGV[1])
return record
