-- Numbers as text: Lua would write large ones with an exponent.
local function text_of(number) return string.format('%.0f', number) end

-- The revision of this commit, as text. An empty store begins at the clock's milliseconds, so that followers of a store
-- that was wiped don't fit the new one.
local function next_revision(key, at_ms)
  local last = redis.call('GET', key)
  return text_of(last and tonumber(last) + 1 or math.max(1, math.floor(tonumber(at_ms))))
end

-- The claim token of the next commit, a number. An empty store begins at the clock's microseconds, so that tokens of a
-- store that was wiped are never given again.
local function next_claim_token(key, at_ms)
  local last = redis.call('GET', key)
  return last and tonumber(last) + 1 or math.max(1, math.floor(tonumber(at_ms))) * 1000
end

-- Makes revision and claim token the last ones and appends the one change of this revision to the stream: a line for each
-- row, '<table> <key> <row>', the row empty when it is gone.
local function append_change(keys, max_length, revision, claim_token, lines)
  local rows = table.concat(lines, '\n')
  redis.call('SET', keys.revision, revision)
  redis.call('SET', keys.claim_token, text_of(claim_token))
  redis.call('XADD', keys.changes, 'MAXLEN', '~', max_length, revision .. '-0', 'rows', rows)
  return rows
end
