--- Makes a run the holder of hosts, each by itself: of those that nobody holds or whose holder's lease ran out, and again
--- of those that it holds. The epoch follows the clock, so that none is given twice though the store was wiped or restored.
---
--- KEYS[1] holder      host -> '<epoch> <until ms> <lease ms> <who>'
--- ARGV[1] lease       ms
--- ARGV[2] who         run and service host
--- ARGV[3] former      run and service host that are dead: what they hold is given at once; '' for nobody
--- ARGV[4..] hosts
--- @return for each host in turn
---   '<epoch>'            it holds the host
---   '0 <left ms> <who>'  somebody else does; of more than twice its length, as the clock was set back, its length is left
--- @include holder

local lease_ms, mine, former, now_ms = tonumber(ARGV[1]), ARGV[2], ARGV[3], store_ms()
-- At once: Lua limits the arguments of a call.
local CHUNK = 4000

local function acquire(row)
  local epoch, until_ms, its_lease_ms, who = parse_holder(row)
  local is_mine = who == mine
  local is_former = former ~= '' and who == former
  if epoch and not is_mine and not is_former and until_ms > now_ms then
    local function taken(left_ms) return string.format('0 %.0f ', left_ms) .. who end
    if until_ms - now_ms <= 2 * its_lease_ms then return taken(until_ms - now_ms) end
    return taken(its_lease_ms), format_holder(epoch, now_ms + its_lease_ms, its_lease_ms, who)
  end
  if not is_mine then epoch = math.max((epoch or 0) + 1, now_ms) end
  return string.format('%.0f', epoch), format_holder(epoch, now_ms + lease_ms, lease_ms, mine)
end

local answers = {}
for from = 4, #ARGV, CHUNK do
  local to = math.min(from + CHUNK - 1, #ARGV)
  local rows = redis.call('HMGET', KEYS[1], unpack(ARGV, from, to))
  local written = {}
  for i, row in ipairs(rows) do
    local answer, next_row = acquire(row)
    answers[#answers + 1] = answer
    if next_row then
      written[#written + 1] = ARGV[from + i - 1]
      written[#written + 1] = next_row
    end
  end
  for at = 1, #written, CHUNK do
    redis.call('HSET', KEYS[1], unpack(written, at, math.min(at + CHUNK - 1, #written)))
  end
end
return answers
