-- A record is a line "version state host updated_at_ms", host '-' for none, and a line of JSON that scripts need not read.
local function head(record)
  return string.match(record, '^(%d+) (%a+) (%S+) (%d+)\n')
end
-- The index is one sorted set by text: what an instance is found by, a zero, its uuid.
local function by(kind, name, uuid)
  return kind .. ':' .. name .. '\0' .. uuid
end
