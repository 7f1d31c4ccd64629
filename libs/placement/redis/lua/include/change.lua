-- Numbers as text: Lua would write large ones with an exponent.
local function text_of(number) return string.format('%.0f', number) end

-- Revision and claim token of the next commit, two numbers.
--
-- One after the other, they would be given twice when a server loses its last commits: in a crash, or when a replica that
-- had not got them takes over. So each server that a store runs on, known by its replication id, goes on at the clock's
-- microseconds, which are beyond all that was given before. The row at keys.birth says which store this is and remembers
-- where servers went on: '<birth id> <born us> <replication id>', then ' <last>-<next>' for each of the last 16 times.
-- Whoever has seen a revision in between has seen what was lost. Keys that are restored into the server that runs (`RESTORE`,
-- `DEBUG RELOAD NOSAVE`) keep its replication id: the writer, who says the highest revision that it has seen, tells.
local function next_numbers(keys, seen)
  local last, last_token = redis.call('GET', keys.revision), redis.call('GET', keys.claim_token)
  local server = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
  local birth, born, known, jumps = string.match(redis.call('GET', keys.birth) or '', '^(%x+) (%d+) (%x+)(.*)$')
  local is_behind = last and seen > tonumber(last)
  if last and known == server and not is_behind then return tonumber(last) + 1, tonumber(last_token) + 1 end

  local time = redis.call('TIME')
  local now_us = time[1] * 1000000 + time[2]
  local revision = math.max(tonumber(last or 0) + 1, seen + 1, now_us)
  if not last or not birth then
    birth, born, jumps = string.sub(redis.sha1hex(server .. text_of(now_us)), 1, 16), text_of(now_us), ''
  end
  if last then jumps = jumps .. ' ' .. last .. '-' .. text_of(revision) end
  local _, count = string.gsub(jumps, ' ', '')
  if count > 16 then jumps = string.gsub(jumps, '^ %S+', '') end
  keys.new_birth = birth .. ' ' .. born .. ' ' .. server .. jumps
  return revision, math.max(tonumber(last_token or 0) + 1, now_us)
end

-- Makes revision and claim token the last ones and appends the one change of this revision to the stream: a line for each
-- row, '<table> <key> <row>', the row empty when it is gone. A store that was emptied under its processes has lost the form
-- of its rows as well.
local function append_change(keys, options, revision, claim_token, lines)
  redis.call('SET', keys.revision, revision)
  if keys.new_birth then
    redis.call('SET', keys.birth, keys.new_birth)
    redis.call('SET', keys.schema, options.form, 'NX')
  end
  redis.call('SET', keys.claim_token, text_of(claim_token))
  redis.call('XADD', keys.changes, 'MAXLEN', '~', options.max_length, revision .. '-0', 'rows', table.concat(lines, '\n'))
end
