--- Removes instances that were deleted or ended in error before a time, but for those in the outbox, and requests none of
--- whose instances is left.
--- KEYS[1] ended     sorted set: uuid by the time it was deleted or ended in error
--- KEYS[2] records   hash: uuid to record
--- KEYS[3] index     sorted set by text
--- KEYS[4] requests  hash: request id to uuids joined by commas
--- KEYS[5] due       sorted set: uuid by due time
--- KEYS[6] outbox    hash: uuid to its events that are not published
--- KEYS[7] forgotten string: when the newest of the instances that were forgotten was created
--- KEYS[8] specs     hash: request id to the spec that its records refer to
--- ARGV[1] before    time, not included
--- ARGV[2] limit
--- ARGV[3] kept      those created up to this time are kept, -1 for none
--- ARGV[4] until     as long as `before` is not past this time
--- @return how many were forgotten or put off
--- @include record
local uuids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[1], 'LIMIT', 0, ARGV[2])
local touched, count = {}, 0
local forgotten_ms = tonumber(redis.call('GET', KEYS[7]) or 0)
local kept_up_to_ms = tonumber(ARGV[1]) <= tonumber(ARGV[4]) and tonumber(ARGV[3]) or -1
local function forget(uuid)
  local record = redis.call('HGET', KEYS[2], uuid)
  local rest = cjson.decode(string.match(record, '\n(.*)$'))
  if rest.createdAtMs <= kept_up_to_ms then
    redis.call('ZADD', KEYS[1], ARGV[4], uuid)
    count = count + 1
    return
  end
  touched[rest.requestId] = true
  forgotten_ms = math.max(forgotten_ms, rest.createdAtMs)
  redis.call('HDEL', KEYS[2], uuid)
  local old = head(record)
  redis.call('ZREM', KEYS[3], by('all', '', uuid), by('project', rest.projectId, uuid),
    by('state', old.state, uuid), by('host', old.host, uuid), by('pending', rest.projectId, uuid))
  redis.call('ZREM', KEYS[1], uuid)
  redis.call('ZREM', KEYS[5], uuid)
  count = count + 1
end
for _, uuid in ipairs(uuids) do
  if redis.call('HEXISTS', KEYS[6], uuid) == 0 then forget(uuid) end
end
if count > 0 then redis.call('SET', KEYS[7], string.format('%.0f', forgotten_ms)) end
for request_id in pairs(touched) do
  local is_empty = true
  for uuid in string.gmatch(redis.call('HGET', KEYS[4], request_id) or '', '[^,]+') do
    if redis.call('HEXISTS', KEYS[2], uuid) == 1 then
      is_empty = false
      break
    end
  end
  if is_empty then
    redis.call('HDEL', KEYS[4], request_id)
    redis.call('HDEL', KEYS[8], request_id)
  end
end
return count
