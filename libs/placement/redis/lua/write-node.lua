--- Replaces what is remembered of a node, if the epoch is that of its holder.
---
--- KEYS[1] nodes     host -> text
--- KEYS[2] holder    host -> '<epoch> <until ms> <lease ms> <who>'
--- ARGV[1] host
--- ARGV[2] epoch
--- ARGV[3] text
--- @return '' when it is written; else the epoch of the holder, '0' when there is none
--- @include holder

local epoch = parse_holder(redis.call('HGET', KEYS[2], ARGV[1]))
if epoch ~= tonumber(ARGV[2]) then return string.format('%.0f', epoch or 0) end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return ''
