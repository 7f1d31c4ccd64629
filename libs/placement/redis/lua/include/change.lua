-- The revision of this commit, as text. An empty store starts at the clock's milliseconds, so that tokens and followers
-- of a store that was wiped don't fit the new one.
local function next_revision(key, at_ms)
  local present = redis.call('GET', key)
  return string.format('%.0f', present and tonumber(present) + 1 or math.max(1, math.floor(tonumber(at_ms))))
end

-- Makes the revision the last one and appends the commit's one record to the stream: a line for each row,
-- '<table> <key> <cell>', the cell empty for a row that is gone.
local function append_change(revision_key, key, max_length, revision, lines)
  local rows = table.concat(lines, '\n')
  redis.call('SET', revision_key, revision)
  redis.call('XADD', key, 'MAXLEN', '~', max_length, revision .. '-0', 'rows', rows)
  return rows
end
