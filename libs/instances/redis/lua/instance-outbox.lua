--- Reads what waits to be published, longest first.
--- KEYS[1] outbox  hash: uuid to the events of its unpublished versions, oldest first, joined by line breaks
--- KEYS[2] since   sorted set: uuid by when it came into the outbox
--- ARGV[1] min_age milliseconds
--- ARGV[2] skip    instances
--- ARGV[3] limit   instances
--- @return instances in the outbox, the age of the oldest in milliseconds, then the events of each instance
--- @readonly
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local oldest = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
local answer = { redis.call('HLEN', KEYS[1]), math.max(0, now - (oldest[2] or now)) }
local uuids = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[1], 'LIMIT', ARGV[2], ARGV[3])
for _, uuid in ipairs(uuids) do answer[#answer + 1] = redis.call('HGET', KEYS[1], uuid) end
return answer
