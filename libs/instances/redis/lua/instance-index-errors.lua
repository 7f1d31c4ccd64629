--- Indexes instances in ERROR that nobody has anything left to do for by when they ended: an older version did not.
--- KEYS[1] index    sorted set by text
--- KEYS[2] records  hash: uuid to record
--- KEYS[3] ended    sorted set: uuid by the time it was deleted or ended in error
--- ARGV[1] marker   uuid before the first to look at, '' for none
--- ARGV[2] limit
--- @return the last uuid that it looked at, '' when there are no more
--- @include record
local prefix = by('state', 'error', '')
local found = redis.call('ZRANGEBYLEX', KEYS[1], '(' .. prefix .. ARGV[1], '(' .. prefix .. '~', 'LIMIT', 0, ARGV[2])
local last = ''
for _, member in ipairs(found) do
  last = string.sub(member, -36)
  local record = redis.call('HGET', KEYS[2], last)
  if record and has_ended(head(record)) then redis.call('ZADD', KEYS[3], 'NX', head(record).updated_at_ms, last) end
end
return #found < tonumber(ARGV[2]) and '' or last
