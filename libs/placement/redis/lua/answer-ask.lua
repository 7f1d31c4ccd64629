--- Notes a host's answer to a question that is open; the first stands. Not a commit.
---
--- KEYS[1] the question  '?<host>', and once it is answered '!<answer>'
--- ARGV[1] host          that answers
--- ARGV[2] answer
--- @return 1, or 0 when the host was not asked, or nobody waits any more

if redis.call('GET', KEYS[1]) ~= '?' .. ARGV[1] then return 0 end
redis.call('SET', KEYS[1], '!' .. ARGV[2], 'KEEPTTL')
return 1
