--- Takes what is kept under an id: only one caller gets it. Not a commit.
---
--- KEYS[1] candidates          id -> content
--- KEYS[2] candidate expiry    id by when it expires, in milliseconds
--- KEYS[3] candidate owners    id -> owner
--- KEYS[4] candidates by owner owner, expiry and id
--- KEYS[5] candidate counts    owner by how many it has
--- ARGV[1] id
--- @return the content and when it expires, in milliseconds; nothing when there is none
--- @include candidates

local keys = candidate_keys()
local content = redis.call('HGET', keys.contents, ARGV[1])
if not content then return nil end
local expires_at_ms = redis.call('ZSCORE', keys.expiry, ARGV[1])
drop_candidate(keys, ARGV[1])
return { content, expires_at_ms }
