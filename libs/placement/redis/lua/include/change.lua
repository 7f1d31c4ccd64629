-- The revision of this commit, as text. An empty store starts at the clock's milliseconds, so that tokens and followers
-- of a store that was wiped don't fit the new one.
local function next_revision(key, at_ms)
  local revision = redis.call('INCR', key)
  if revision == 1 then
    revision = math.max(1, math.floor(tonumber(at_ms)))
    redis.call('SET', key, string.format('%.0f', revision))
  end
  return string.format('%.0f', revision)
end

-- Appends the commit's one record to the stream: a line for each row, '<table> <key> <cell>', the cell empty for a row
-- that is gone.
local function append_change(key, max_length, revision, lines)
  local rows = table.concat(lines, '\n')
  redis.call('XADD', key, 'MAXLEN', '~', max_length, revision .. '-0', 'rows', rows)
  return rows
end
