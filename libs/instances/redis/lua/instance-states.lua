--- Counts a part of the instances that are due by their states: the index has those at rest.
--- KEYS[1] due      sorted set: uuid by due time
--- KEYS[2] records  hash: uuid to record
--- ARGV[1] first    rank of the first to count
--- ARGV[2] last     rank of the last
--- @return {how many were read, state, count, state, count, ...}
--- @readonly
--- @include record
local uuids = redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[2])
local counts = {}
for _, uuid in ipairs(uuids) do
  local record = redis.call('HGET', KEYS[2], uuid)
  local state = record and head(record).state
  if state then counts[state] = (counts[state] or 0) + 1 end
end
local answer = {#uuids}
for state, count in pairs(counts) do
  answer[#answer + 1] = state
  answer[#answer + 1] = count
end
return answer
