--- Replaces what is remembered of a node, if the epoch is that of its holder. What comes late, after a later change under the same
--- epoch, is left out: nobody waits for it.
---
--- KEYS[1] nodes     host -> text
--- KEYS[2] holder    host -> '<epoch> <until ms> <lease ms> <who>'
--- KEYS[3] changes   host -> '<epoch> <updated at ms>' of what is remembered
--- ARGV[1] host
--- ARGV[2] epoch
--- ARGV[3] text
--- ARGV[4] updated at ms
--- @return '' when it, or a later change, is written; else the epoch of the holder, '0' when there is none
--- @include holder

local epoch = parse_holder(redis.call('HGET', KEYS[2], ARGV[1]))
if epoch ~= tonumber(ARGV[2]) then return string.format('%.0f', epoch or 0) end
local present = redis.call('HGET', KEYS[3], ARGV[1])
if present then
  local of_epoch, updated_at = string.match(present, '^(%d+) (%d+)$')
  if tonumber(of_epoch) == epoch and tonumber(updated_at) > tonumber(ARGV[4]) then return '' end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('HSET', KEYS[3], ARGV[1], ARGV[2] .. ' ' .. ARGV[4])
return ''
