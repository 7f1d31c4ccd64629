--- Takes reports of hosts, each by itself: one that says what the host's last report said is noted, without a commit, if
--- the rows of host and provider are still those that said the same then.
---
--- KEYS[1] heartbeats   host -> ms, sorted
--- KEYS[2] provider     uuid -> row
--- KEYS[3] host         name -> row
--- KEYS[4] sequence     name -> '0 <sequence> <run>\n<digest> <host revision> <provider> <provider revision>'
--- ARGV[1..] reports    4 for each: host, sequence, digest, ms
--- @return for each report in turn
---   'unchanged'        it is noted
---   'changed'          it says something else, or a row has another revision; nothing was noted
---   the sequence       that was seen, which is not before this one; nothing was noted
--- @include head

local heartbeats_key, provider_key, host_key, sequence_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

local function take(host, sequence, digest, at_ms)
  local last = redis.call('HGET', sequence_key, host)
  local seen, rest = string.match(last or '', '^0 (%d+)( .*)$')
  if not seen then return 'changed' end
  local said, host_revision, provider, provider_revision = string.match(rest, '\n(%S*) (%d+) (%S+) (%d+)$')
  local is_known = said == digest
    and begins(host_key, host, host_revision .. ' ')
    and begins(provider_key, provider, provider_revision .. ' ')
  if not is_known then return 'changed' end
  if tonumber(sequence) <= tonumber(seen) then return seen end
  redis.call('HSET', sequence_key, host, '0 ' .. sequence .. rest)
  redis.call('ZADD', heartbeats_key, 'GT', at_ms, host)
  return 'unchanged'
end

local answers = {}
for i = 1, #ARGV, 4 do answers[#answers + 1] = take(unpack(ARGV, i, i + 3)) end
return answers
