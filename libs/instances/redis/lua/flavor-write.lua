--- Writes a flavor over the version that its writer has read.
--- KEYS[1] flavors  hash: name to a record "version content"
--- KEYS[2] version  string: the highest version that any flavor has had
--- ARGV[1] name
--- ARGV[2] over     the version that must be stored, '' for none
--- ARGV[3] content
--- ARGV[4] limit    flavors above which none is added
--- @return {'written', version}, {'other', record}, {'absent'} or {'full'}
local record = redis.call('HGET', KEYS[1], ARGV[1])
local stored = record and string.match(record, '^%d+') or ''
if stored ~= ARGV[2] then
  if record then return { 'other', record } end
  return { 'absent' }
end
if not record and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then return { 'full' } end
-- Versions follow the clock, so that they still rise after the store has lost everything.
local version = math.max(tonumber(redis.call('GET', KEYS[2]) or 0) + 1, tonumber(redis.call('TIME')[1]))
local text = string.format('%.0f', version)
redis.call('SET', KEYS[2], text)
redis.call('HSET', KEYS[1], ARGV[1], text .. ' ' .. ARGV[3])
return { 'written', text }
