--- Hosts that instances are on, in order: from one to the next, past all that is on it.
--- KEYS[1] index   sorted set by text
--- ARGV[1] marker  host before the first, '' for none
--- ARGV[2] limit
--- @return names
--- @readonly
local hosts, after = {}, ARGV[1]
while #hosts < tonumber(ARGV[2]) do
  local member = redis.call('ZRANGEBYLEX', KEYS[1], '(host:' .. after .. '\1', '(host;', 'LIMIT', 0, 1)[1]
  if not member then break end
  after = string.match(member, '^host:([^%z]*)')
  hosts[#hosts + 1] = after
end
return hosts
