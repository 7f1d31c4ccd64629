--- Takes reports of hosts, each by itself: one that says what the host's last report said is noted, without a commit, if
--- the rows of host and provider are still those that said the same then, and it is of the host's present epoch.
---
--- KEYS[1] heartbeats   host -> ms, sorted
--- KEYS[2] provider     uuid -> row
--- KEYS[3] host         name -> row
--- KEYS[4] sequence     name -> '0 <sequence> <run>\n<digest> <host revision>', then ' <provider> <provider revision>' for each
--- KEYS[5] holder       host -> '<epoch> <until ms> <lease ms> <who>'
--- ARGV[1..] reports    5 for each: host, sequence, digest, ms, epoch
--- @return for each report in turn
---   'unchanged'        it is noted
---   'changed'          it says something else, a row has another revision, or it is of another epoch; nothing was noted
---   the sequence       that was seen, which is not before this one; nothing was noted
--- @include head
--- @include holder

local heartbeats_key, provider_key, host_key, sequence_key, holder_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local now_ms = store_ms()

-- True if the report is its holder's. Reports without an epoch are rare, and judged with those that say something new.
local function is_of_holder(host, epoch)
  return epoch ~= '0' and begins(holder_key, host, epoch .. ' ')
end

-- True if each provider of '<provider> <revision> <provider> <revision> ...' is at its revision.
local function are_same(providers)
  for provider, revision in string.gmatch(providers, '(%S+) (%d+)') do
    if not begins(provider_key, provider, revision .. ' ') then return false end
  end
  return true
end

local function take(host, sequence, digest, at_ms, epoch)
  local last = redis.call('HGET', sequence_key, host)
  local seen, rest = string.match(last or '', '^0 (%d+)( .*)$')
  if not seen or not is_of_holder(host, epoch) then return 'changed' end
  local said, host_revision, providers = string.match(rest, '\n(%S*) (%d+) (.+)$')
  local is_known = said == digest and begins(host_key, host, host_revision .. ' ') and are_same(providers)
  if not is_known then return 'changed' end
  if tonumber(sequence) <= tonumber(seen) then return seen end
  redis.call('HSET', sequence_key, host, '0 ' .. sequence .. rest)
  redis.call('ZADD', heartbeats_key, 'GT', at_ms, host)
  renew_holder(holder_key, host, now_ms)
  return 'unchanged'
end

local answers = {}
for i = 1, #ARGV, 5 do answers[#answers + 1] = take(unpack(ARGV, i, i + 4)) end
return answers
