--- Makes a run the holder of hosts, each by itself: of those that nobody holds or whose holder's lease ran out, and again
--- of those that it holds. The epoch follows the clock, so that none is given twice though the store was wiped or restored.
---
--- KEYS[1] holder      host -> '<epoch> <until ms> <lease ms> <who>'
--- ARGV[1] lease       ms
--- ARGV[2] who         run and service host
--- ARGV[3..] hosts
--- @return for each host in turn
---   '<epoch>'            it holds the host
---   '0 <left ms> <who>'  somebody else does
--- @include holder

local lease_ms, mine, now_ms = tonumber(ARGV[1]), ARGV[2], store_ms()

local function acquire(host)
  local epoch, until_ms, _, who = holder_of(KEYS[1], host)
  local is_mine = who == mine
  if epoch and not is_mine and until_ms > now_ms then
    return string.format('0 %.0f ', until_ms - now_ms) .. who
  end
  if not is_mine then epoch = math.max((epoch or 0) + 1, now_ms) end
  put_holder(KEYS[1], host, epoch, now_ms + lease_ms, lease_ms, mine)
  return string.format('%.0f', epoch)
end

local answers = {}
for i = 3, #ARGV do answers[#answers + 1] = acquire(ARGV[i]) end
return answers
