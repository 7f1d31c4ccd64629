--- Gives hosts back that a run still holds: the epoch rises, so that its reports are refused from now on.
---
--- KEYS[1] holder      host -> '<epoch> <until ms> <lease ms> <who>'
--- ARGV[1] who         run and service host
--- ARGV[2] nobody
--- ARGV[3..] hosts
--- @return nothing
--- @include holder

local mine, nobody = ARGV[1], ARGV[2]
for i = 3, #ARGV do
  local epoch, _, _, who = parse_holder(redis.call('HGET', KEYS[1], ARGV[i]))
  if who == mine then redis.call('HSET', KEYS[1], ARGV[i], format_holder(epoch + 1, 0, 0, nobody)) end
end
