--- Takes what is kept under an id: only one caller gets it. Not a commit.
---
--- KEYS[1] candidates         id -> content
--- KEYS[2] candidate expiry   id by when it expires, in milliseconds
--- ARGV[1] id
--- @return the content and when it expires, in milliseconds; nothing when there is none

local content = redis.call('HGET', KEYS[1], ARGV[1])
if not content then return nil end
local expires_at_ms = redis.call('ZSCORE', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return { content, expires_at_ms }
