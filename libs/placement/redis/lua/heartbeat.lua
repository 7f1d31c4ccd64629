--- Takes reports of hosts that say what the store has already, each by itself: notes their sequences and heartbeats.
---
--- KEYS[1] heartbeats   host -> ms, sorted
--- KEYS[2] provider     uuid -> cell
--- KEYS[3] host         name -> cell
--- KEYS[4] sequence     name -> cell
--- ARGV[1..] reports    6 for each: host, '<sequence> <run>', ms, head of the host's cell, provider, head of its cell
--- @return for each report in turn
---   'unchanged'        it is noted
---   'changed'          a cell does not begin as given; nothing was noted
---   the sequence       that was seen, which is not before this one; nothing was noted

local heartbeats_key, provider_key, host_key, sequence_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

local function begins(key, name, head)
  local cell = redis.call('HGET', key, name)
  return cell and string.sub(cell, 1, #head) == head
end

local function take(host, report, at_ms, host_head, provider, provider_head)
  if not (begins(host_key, host, host_head) and begins(provider_key, provider, provider_head)) then return 'changed' end
  local last = redis.call('HGET', sequence_key, host)
  local seen, last_run = string.match(last or '', '^0 (%d+) (.*)$')
  local sequence, run = string.match(report, '^(%d+) (.*)$')
  if last_run == run and tonumber(sequence) <= tonumber(seen) then return seen end
  redis.call('HSET', sequence_key, host, '0 ' .. report)
  redis.call('ZADD', heartbeats_key, 'GT', at_ms, host)
  return 'unchanged'
end

local answers = {}
for i = 1, #ARGV, 6 do answers[#answers + 1] = take(unpack(ARGV, i, i + 5)) end
return answers
