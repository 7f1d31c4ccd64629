--- One page of an index, by uuid.
--- KEYS[1] index    sorted set by text
--- KEYS[2] records  hash: uuid to record
--- ARGV[1] prefix   what to find by, with the zero
--- ARGV[2] marker   uuid before the first of the page, '' for none
--- ARGV[3] limit
--- @return records
--- @readonly
local found = redis.call('ZRANGEBYLEX', KEYS[1], '(' .. ARGV[1] .. ARGV[2], '(' .. ARGV[1] .. '~', 'LIMIT', 0, ARGV[3])
local records = {}
for n, member in ipairs(found) do records[n] = redis.call('HGET', KEYS[2], string.sub(member, -36)) end
return records
