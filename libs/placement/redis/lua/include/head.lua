-- Whether there is a row that begins as given.
local function begins(key, name, head)
  local row = redis.call('HGET', key, name)
  return row and string.sub(row, 1, #head) == head
end
