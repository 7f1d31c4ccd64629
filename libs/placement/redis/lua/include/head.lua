-- True if a row begins with `head`.
local function begins(key, name, head)
  local row = redis.call('HGET', key, name)
  return row and string.sub(row, 1, #head) == head
end
