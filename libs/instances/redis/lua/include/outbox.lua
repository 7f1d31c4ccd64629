-- An entry of the outbox is a line "since_ms version", since when it is there and the present version of the record, which is
-- the last that is not published. Before it come the events of earlier ones: most entries have none, as each version is
-- published before the next is written.
local function entry_of(text)
  local since_ms, version, rest = string.match(text, '^(%d+) (%d+)\n?(.*)$')
  local events = {}
  for event in string.gmatch(rest, '([^\n]*\n[^\n]*)\n?') do events[#events + 1] = event end
  return { since_ms = tonumber(since_ms), version = tonumber(version), events = events }
end
local function entry_text(entry)
  local head_line = string.format('%.0f %d', entry.since_ms, entry.version)
  return #entry.events == 0 and head_line or head_line .. '\n' .. table.concat(entry.events, '\n')
end
-- By the store's clock, which all conductors share.
local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
