--- Stores the instances of a request, all of them or, when the request is known or a uuid is taken, none.
--- KEYS[1] requests  hash: request id to uuids joined by commas
--- KEYS[2] records   hash: uuid to record
--- KEYS[3] index     sorted set by text
--- KEYS[4] due       sorted set: uuid by due time
--- ARGV[1] request_id
--- ARGV[2] count     of instances
--- ARGV[3..] uuid, project id, record and due time ('' for none), for each instance
--- @return {'created'}, {'exists', uuid} when another request has the uuid, {'known', record...} in the request's order
--- @include record
local request_id, count = ARGV[1], tonumber(ARGV[2])
local known = redis.call('HGET', KEYS[1], request_id)
if known then
  local answer = {'known'}
  for uuid in string.gmatch(known, '[^,]+') do
    answer[#answer + 1] = redis.call('HGET', KEYS[2], uuid) or nil
  end
  return answer
end
local uuids = {}
for n = 1, count do
  uuids[n] = ARGV[n * 4 - 1]
  if redis.call('HEXISTS', KEYS[2], uuids[n]) == 1 then return {'exists', uuids[n]} end
end

redis.call('HSET', KEYS[1], request_id, table.concat(uuids, ','))
for n, uuid in ipairs(uuids) do
  local project, record, due = ARGV[n * 4], ARGV[n * 4 + 1], ARGV[n * 4 + 2]
  local _, state, host = head(record)
  redis.call('HSET', KEYS[2], uuid, record)
  redis.call('ZADD', KEYS[3], 0, by('all', '', uuid), 0, by('project', project, uuid))
  move(KEYS[3], false, by_state(state, due ~= '', uuid))
  move(KEYS[3], false, by_host(host, uuid))
  if due ~= '' then redis.call('ZADD', KEYS[4], due, uuid) end
end
return {'created'}
