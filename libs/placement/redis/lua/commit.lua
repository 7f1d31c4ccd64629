--- Commits a transaction that was decided elsewhere, if everything that it has read is still so.
---
--- The plan is JSON: { guards: [[table, key, head]], counts: [[counter, number]], silent: [[host, ms]], writes: [...],
--- commits: boolean }. A guard's head is how the cell must begin, false when there must be none. A write is one of
--- ['put', table, key, body]     the cell becomes '<revision> <body>'
--- ['claim', table, key, body]   the cell becomes '<revision> <revision> <body>'
--- ['raw', table, key, cell]     the cell becomes what is given, unseen by mirrors
--- ['delete', table, key]
--- ['raise', 'usage', key]       the generation by one
--- ['show', 'usage', key]        the cell as it is, into the change record
--- ['count', counter, by]
--- ['beat', host, ms]  ['mute', host]
---
--- KEYS[1] revision     the last commit's
--- KEYS[2] changes      the stream
--- KEYS[3] heartbeats   host -> ms, sorted
--- KEYS[4] counter      name -> number
--- KEYS[5] provider     the tables, each key -> cell
--- KEYS[6] usage
--- KEYS[7] inventory
--- KEYS[8] host
--- KEYS[9] consumer
--- KEYS[10] resource_class
--- KEYS[11] trait
--- KEYS[12] name
--- KEYS[13] tree
--- KEYS[14] sequence
--- ARGV[1] max length   of the stream, about
--- ARGV[2] at ms        now
--- ARGV[3] plan         JSON
--- @return {'committed', revision, rows}
--- @return {'unchanged'}   nothing that mirrors see was to be written; what was to be written is
--- @return {'conflict'}    a guard does not hold; nothing was written
--- @include change

local heartbeats_key, counters_key = KEYS[3], KEYS[4]
local tables = {
  provider = KEYS[5], usage = KEYS[6], inventory = KEYS[7], host = KEYS[8], consumer = KEYS[9],
  resource_class = KEYS[10], trait = KEYS[11], name = KEYS[12], tree = KEYS[13], sequence = KEYS[14],
}
local is_mirrored = {
  provider = true, usage = true, host = true, consumer = true, resource_class = true, trait = true,
}
local plan = cjson.decode(ARGV[3])

-- Guards.

local function guard_holds(guard)
  local cell, head = redis.call('HGET', tables[guard[1]], guard[2]), guard[3]
  if not head then return not cell end
  return cell and string.sub(cell, 1, #head) == head
end

for _, guard in ipairs(plan.guards) do
  if not guard_holds(guard) then return { 'conflict' } end
end
for _, guard in ipairs(plan.counts) do
  if tonumber(redis.call('HGET', counters_key, guard[1]) or 0) ~= guard[2] then return { 'conflict' } end
end
for _, guard in ipairs(plan.silent) do
  if tonumber(redis.call('ZSCORE', heartbeats_key, guard[1]) or 0) > guard[2] then return { 'conflict' } end
end

-- Writes.

local revision = plan.commits and next_revision(KEYS[1], ARGV[2])
local lines = {}
local function show(name, key, cell)
  if is_mirrored[name] then lines[#lines + 1] = name .. ' ' .. key .. ' ' .. cell end
end
local function put(name, key, cell)
  redis.call('HSET', tables[name], key, cell)
  show(name, key, cell)
end

local apply = {
  put = function(name, key, body) put(name, key, revision .. ' ' .. body) end,
  claim = function(name, key, body) put(name, key, revision .. ' ' .. revision .. ' ' .. body) end,
  raw = function(name, key, cell) redis.call('HSET', tables[name], key, cell) end,
  delete = function(name, key)
    redis.call('HDEL', tables[name], key)
    show(name, key, '')
  end,
  raise = function(name, key)
    local generation, used = string.match(redis.call('HGET', tables[name], key), '^%d+ (%d+) (.*)$')
    put(name, key, revision .. ' ' .. (tonumber(generation) + 1) .. ' ' .. used)
  end,
  show = function(name, key) show(name, key, redis.call('HGET', tables[name], key)) end,
  count = function(counter, by)
    if redis.call('HINCRBY', counters_key, counter, by) == 0 then redis.call('HDEL', counters_key, counter) end
  end,
  beat = function(host, at_ms) redis.call('ZADD', heartbeats_key, 'GT', at_ms, host) end,
  mute = function(host) redis.call('ZREM', heartbeats_key, host) end,
}
for _, write in ipairs(plan.writes) do apply[write[1]](write[2], write[3], write[4]) end

if not plan.commits then return { 'unchanged' } end
return { 'committed', revision, append_change(KEYS[1], KEYS[2], ARGV[1], revision, lines) }
