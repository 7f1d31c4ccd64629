--- Writes a record over the version before it.
--- KEYS[1] records  hash: uuid to record
--- KEYS[2] index    sorted set by text
--- KEYS[3] due      sorted set: uuid by due time
--- KEYS[4] deleted  sorted set: uuid by the time it was deleted
--- ARGV[1] uuid
--- ARGV[2] record
--- ARGV[3] due      time, '' for none
--- @return {'updated'}, {'absent'}, {'other', record} with what somebody else wrote
--- @include record
local uuid, record, due = ARGV[1], ARGV[2], ARGV[3]
local stored = redis.call('HGET', KEYS[1], uuid)
if not stored then return {'absent'} end
local old_version, old_state, old_host = head(stored)
local version, state, host, updated_at_ms = head(record)
if tonumber(version) ~= tonumber(old_version) + 1 then return {'other', stored} end

redis.call('HSET', KEYS[1], uuid, record)
local is_due, was_due = due ~= '', nil
if is_due then
  was_due = redis.call('ZADD', KEYS[3], due, uuid) == 0
else
  was_due = redis.call('ZREM', KEYS[3], uuid) == 1
end
move(KEYS[2], by_state(old_state, was_due, uuid), by_state(state, is_due, uuid))
move(KEYS[2], by_host(old_host, uuid), by_host(host, uuid))
if state == 'deleted' then redis.call('ZADD', KEYS[4], updated_at_ms, uuid) end
return {'updated'}
