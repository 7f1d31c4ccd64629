--- Commits a batch of transactions that were decided by their clients (`commands/`), one after the other: each is made whole or
--- not at all, whatever becomes of the others, and finds what those before it have made. The script knows no rule: guards say
--- what must be so, writes what is done. Those that are made share one revision and one change in the stream; each has a claim
--- token of its own.
---
--- A row is '<revision> <content>'. A row of amounts is '<revision> <number> <JSON>', name -> amount: the number is the generation
--- of a usage, the time of a project's use.
---
--- KEYS[1] revision     the last commit's
--- KEYS[2] changes      the stream
--- KEYS[3] claim token  the last commit's
--- KEYS[4] birth        which store this is
--- KEYS[5] heartbeats   host -> ms, sorted
--- KEYS[6] counters     name -> number
--- KEYS[7] provider     the tables, each key -> row
--- KEYS[8] usage
--- KEYS[9] host
--- KEYS[10] consumer
--- KEYS[11] resource_class
--- KEYS[12] trait
--- KEYS[13] name
--- KEYS[14] tree
--- KEYS[15] sequence
--- KEYS[16] holder
--- KEYS[17] quota
--- KEYS[18] cohort
--- KEYS[19] project_usage
--- KEYS[20] project_days
--- KEYS[21] aggregate
--- KEYS[22] server_group
--- KEYS[23] lease
--- KEYS[24] nomination
--- KEYS[25] usage_parts
--- KEYS[26] guarantee
--- KEYS[27] reservation
--- KEYS[28] recent_use
--- KEYS[29] admission_turn
--- KEYS[30] schema      the form of rows
--- KEYS[31] records     '<project> <usage record>', all of one score
--- ARGV[1] max length   of the stream, about
--- ARGV[2] batch        MessagePack: { rows, counters, words }. Rows are listed by table, { KEYS index, key, key, ... }, and
---                      named by KEYS index * 16777216 + place in the list; counters by their place. The words are those of
---                      one transaction after the other:
---   <how many words follow> <1 when mirrors see what it writes, else 0> <guard count>, then guards, then writes
---   guards, each of four words:
---     1 row head .          the row begins so; head false: there is none; head a number: the transaction of that number in this
---                           batch made it
---     2 row name most       an amount is at most so much
---     3 row name least
---     4 counter most .      a counter is at most so much
---     5 counter least .
---     6 host ms .           a host was not heard after a time
---   writes:
---     1 row content         put: the row becomes '<revision> <content>'; revision 0 where mirrors see nothing
---     2 row content         claim: '<revision> <claim token> <content>'
---     3 row                 delete
---     4 row count name by.. add: moves amounts; a row that is not there is made
---     5 row                 raise the number of a row of amounts by one
---     6 row ms              stamp: that number becomes the time, unless it is up to a day ahead
---     7 row                 show the row as it is in the change
---     8 counter by          count
---     9 row content n row.. report: '0 <content> <revision of the first row>', then ' <key> <revision>' for each other one
---     10 host ms            beat: notes a heartbeat, and renews the lease of the host's holder
---     11 host               mute: forgets it
---     12 project text n m   record: adds a usage record, unless the project has n, or all have m
---     13 project text       unrecord: takes it away
--- ARGV[3] seen         the highest revision that the writer has seen
--- ARGV[4] form         of the rows that it writes
--- @return { revision, claim token, rows of amounts that are in the change, outcome, ... }; revision '' when mirrors see nothing of
---         it; the claim token is that of the first transaction that was made, the next one's is one higher; an outcome is 0, or
---         { number of the guard that failed, the row of amounts it is on now or '' }
--- @include change
--- @include holder

local keys = { revision = KEYS[1], changes = KEYS[2], claim_token = KEYS[3], birth = KEYS[4], schema = KEYS[30] }
local heartbeats_key, counters_key, records_key = KEYS[5], KEYS[6], KEYS[31]
local USAGE, HOLDER = 8, 16
-- Tables in the change, by the words of its lines.
local mirrored = {
  [7] = 'provider ', [8] = 'usage ', [9] = 'host ', [10] = 'consumer ', [11] = 'resource_class ', [12] = 'trait ',
  [17] = 'quota ', [21] = 'aggregate ', [22] = 'server_group ', [23] = 'lease ',
  [26] = 'guarantee ', [27] = 'reservation ', [29] = 'admission_turn ',
}
local ROWS_PER_TABLE = 16777216
local DAY_MS = 86400000
-- As many as one command takes.
local CHUNK = 1000

local batch = cmsgpack.unpack(ARGV[2])

-- Rows and counters: read once, and from then on as the transactions so far have made them.

-- By row: its table, its key, its text; false when there is none.
local table_of, key_of, text_of_row = {}, {}, {}
-- The transaction that wrote it last.
local writer_of = {}
for _, group in ipairs(batch[1]) do
  local name = group[1]
  for from = 2, #group, CHUNK do
    local to = math.min(from + CHUNK - 1, #group)
    for i, text in ipairs(redis.call('HMGET', KEYS[name], unpack(group, from, to))) do
      local row = name * ROWS_PER_TABLE + from + i - 2
      table_of[row], key_of[row], text_of_row[row] = name, group[from + i - 1], text
    end
  end
end

local counters, counts = batch[2], {}
for from = 1, #counters, CHUNK do
  local to = math.min(from + CHUNK - 1, #counters)
  for i, count in ipairs(redis.call('HMGET', counters_key, unpack(counters, from, to))) do
    counts[from + i - 1] = tonumber(count or 0)
  end
end

local amounts_of_row, number_of = {}, {}
local function amounts_of(row)
  local amounts = amounts_of_row[row]
  if amounts then return amounts end
  local number, json = string.match(text_of_row[row] or '0 0 {}', '^%d+ (%d+) (.*)$')
  amounts, number_of[row] = cjson.decode(json), tonumber(number)
  amounts_of_row[row] = amounts
  return amounts
end

local words, at = batch[3], 0

-- Guards.

local function is_as_read(row, head)
  local text, writer = text_of_row[row], writer_of[row]
  if not head then return not text end
  if not text then return false end
  if writer or type(head) == 'number' then return writer == head end
  return string.find(text, head, 1, true) == 1
end

local guards = {
  is_as_read,
  function(row, name, most) return (amounts_of(row)[name] or 0) <= most end,
  function(row, name, least) return (amounts_of(row)[name] or 0) >= least end,
  function(counter, most) return counts[counter] <= most end,
  function(counter, least) return counts[counter] >= least end,
  function(host, ms) return tonumber(redis.call('ZSCORE', heartbeats_key, host) or 0) <= ms end,
}

-- Writes.

local revision, claim_token
local next_revision, next_token
local transaction = 0
local changed, is_changed, shown, moved_counters, reports = {}, {}, {}, {}, {}
local records, gone_records = {}, {}

local function change(row)
  writer_of[row] = transaction
  if is_changed[row] then return end
  is_changed[row] = true
  changed[#changed + 1] = row
end
local function put(row, content)
  text_of_row[row], amounts_of_row[row] = content, nil
  change(row)
end

local writes = {
  -- Rows that mirrors never see have no revision of their own.
  function() put(words[at + 1], (revision or '0') .. ' ' .. words[at + 2]) return 2 end,
  function() put(words[at + 1], revision .. ' ' .. claim_token .. ' ' .. words[at + 2]) return 2 end,
  function() put(words[at + 1], false) return 1 end,
  function()
    local row, count = words[at + 1], words[at + 2]
    local amounts = amounts_of(row)
    for i = at + 3, at + 2 * count + 1, 2 do
      local name = words[i]
      local amount = (amounts[name] or 0) + words[i + 1]
      amounts[name] = amount ~= 0 and amount or nil
    end
    text_of_row[row] = text_of_row[row] or ''
    change(row)
    return 2 + 2 * count
  end,
  function()
    local row = words[at + 1]
    amounts_of(row)
    number_of[row] = number_of[row] + 1
    change(row)
    return 1
  end,
  function()
    local row, ms = words[at + 1], words[at + 2]
    amounts_of(row)
    local ahead = number_of[row] - ms
    if ahead <= 0 or ahead > DAY_MS then number_of[row] = ms end
    change(row)
    return 2
  end,
  function() shown[#shown + 1] = words[at + 1] return 1 end,
  function()
    local counter = words[at + 1]
    counts[counter] = counts[counter] + words[at + 2]
    moved_counters[counter] = true
    return 2
  end,
  function()
    local report = { row = words[at + 1], content = words[at + 2] }
    for i = 1, words[at + 3] do report[i] = words[at + 3 + i] end
    reports[#reports + 1] = report
    text_of_row[report.row], writer_of[report.row] = '0 ' .. report.content, transaction
    return 3 + words[at + 3]
  end,
  function()
    redis.call('ZADD', heartbeats_key, 'GT', words[at + 2], words[at + 1])
    renew_holder(KEYS[HOLDER], words[at + 1], store_ms())
    return 2
  end,
  function()
    -- At its maxmemory Redis refuses a script by its first write alone, and allows a ZREM: all hosts would go down because
    -- their reports are refused.
    redis.call('ZADD', heartbeats_key, 'XX', 0, words[at + 1])
    redis.call('ZREM', heartbeats_key, words[at + 1])
    return 1
  end,
  function()
    records[#records + 1] = { words[at + 1], words[at + 2], words[at + 3], words[at + 4] }
    return 4
  end,
  function()
    gone_records[#gone_records + 1] = words[at + 1] .. ' ' .. words[at + 2]
    return 2
  end,
}

-- Nil when the transaction was made, or the guard that failed and its row.
local function commit(last)
  local is_seen, guard_count = words[at + 1] == 1, words[at + 2]
  at = at + 2
  for guard = 1, guard_count do
    local kind, subject = words[at + 1], words[at + 2]
    if not guards[kind](subject, words[at + 3], words[at + 4]) then
      return guard, (kind == 2 or kind == 3) and subject or nil
    end
    at = at + 4
  end
  if is_seen then
    if not next_revision then
      next_revision, next_token = next_numbers(keys, tonumber(ARGV[3]))
      revision, claim_token = text_of(next_revision), text_of(next_token)
    elseif next_token then
      next_token = next_token + 1
      claim_token = text_of(next_token)
    end
  end
  while at < last do
    at = at + 1
    at = at + writes[words[at]]()
  end
  return nil
end

local failures, outcomes = {}, {}
local word_count = #words
local first_token
while at < word_count do
  transaction, at = transaction + 1, at + 1
  local last = at + words[at]
  local guard, row = commit(last)
  if guard then failures[transaction] = { guard, row } end
  first_token = first_token or claim_token
  at = last
end

-- All is decided: write. Rows go by hundreds: each command costs more than its rows.

local function write_all(command, key, all)
  for from = 1, #all, CHUNK do
    redis.call(command, key, unpack(all, from, math.min(from + CHUNK - 1, #all)))
  end
end

local puts, deletes, lines, brief = {}, {}, {}, {}
local function show(row, text)
  local name = table_of[row]
  local word = mirrored[name]
  if word then
    local line = word .. key_of[row] .. ' ' .. text
    lines[#lines + 1] = line
    if name == USAGE then brief[#brief + 1] = line end
  end
end
local function list_of(lists, name)
  local list = lists[name]
  if not list then
    list = {}
    lists[name] = list
  end
  return list
end
local function put_row(name, key, text)
  local list = list_of(puts, name)
  local count = #list
  list[count + 1], list[count + 2] = key, text
end

for _, row in ipairs(changed) do
  if amounts_of_row[row] then
    text_of_row[row] = revision .. ' ' .. text_of(number_of[row]) .. ' ' .. cjson.encode(amounts_of_row[row])
  end
  local text, name = text_of_row[row], table_of[row]
  if text then
    put_row(name, key_of[row], text)
    show(row, text)
  else
    table.insert(list_of(deletes, name), key_of[row])
    show(row, '')
  end
end
for _, row in ipairs(shown) do
  if not is_changed[row] and text_of_row[row] then
    is_changed[row] = true
    show(row, text_of_row[row])
  end
end
for _, report in ipairs(reports) do
  local said = { '0', report.content }
  for i, row in ipairs(report) do
    if i > 1 then said[#said + 1] = key_of[row] end
    said[#said + 1] = string.match(text_of_row[row], '^%d+')
  end
  put_row(table_of[report.row], key_of[report.row], table.concat(said, ' '))
end
for name, all in pairs(puts) do write_all('HSET', KEYS[name], all) end
for name, all in pairs(deletes) do write_all('HDEL', KEYS[name], all) end

write_all('ZREM', records_key, gone_records)
for _, record in ipairs(records) do
  local project, text, most_of_project, most = unpack(record)
  local of_project = redis.call('ZLEXCOUNT', records_key, '[' .. project .. ' ', '(' .. project .. '!')
  if of_project < most_of_project and redis.call('ZCARD', records_key) < most then
    redis.call('ZADD', records_key, 0, project .. ' ' .. text)
  end
end

local set_counts, gone_counts = {}, {}
for counter in pairs(moved_counters) do
  if counts[counter] == 0 then
    gone_counts[#gone_counts + 1] = counters[counter]
  else
    set_counts[#set_counts + 1], set_counts[#set_counts + 2] = counters[counter], text_of(counts[counter])
  end
end
write_all('HSET', counters_key, set_counts)
write_all('HDEL', counters_key, gone_counts)
if revision then append_change(keys, { max_length = ARGV[1], form = ARGV[4] }, revision, next_token, lines) end

local reply = { revision or '', first_token or '', brief }
for i = 1, transaction do
  local failure = failures[i]
  reply[i + 3] = failure and { failure[1], failure[2] and text_of_row[failure[2]] or '' } or 0
end
return reply
