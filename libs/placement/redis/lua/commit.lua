--- Commits a transaction that was decided by its client, if everything that it has read is still so.
---
--- The transaction is JSON: { guards: [[table, key, head]], counts: [[counter, number]], silent: [[host, ms]],
--- writes: [...], commits: boolean }. A guard's head is how the row must begin, false when there must be none. A write is
--- one of
--- ['put', table, key, content]    the row becomes '<revision> <content>'
--- ['claim', table, key, content]  the row becomes '<revision> <claim token> <content>'
--- ['inventories', provider, JSON] beside the provider's row, for claims
--- ['report', host, content, providers]  the host's last report, '0 <content> <host revision>', then
---                                 ' <provider> <provider revision>' for each of its providers
--- ['delete', table, key]
--- ['raise', 'usage', key]         the generation by one
--- ['show', 'usage', key]          the row as it is, into the change
--- ['count', counter, by]
--- ['beat', host, ms]              notes a heartbeat, and renews the lease of the host's holder
--- ['mute', host]                  forgets it
---
--- KEYS[1] revision     the last commit's
--- KEYS[2] changes      the stream
--- KEYS[3] heartbeats   host -> ms, sorted
--- KEYS[4] counters     name -> number
--- KEYS[5] provider     the tables, each key -> row
--- KEYS[6] usage
--- KEYS[7] inventory
--- KEYS[8] host
--- KEYS[9] consumer
--- KEYS[10] resource_class
--- KEYS[11] trait
--- KEYS[12] name
--- KEYS[13] tree
--- KEYS[14] sequence
--- KEYS[15] claim token the last commit's
--- KEYS[16] birth       which store this is
--- KEYS[17] holder      host -> '<epoch> <until ms> <lease ms> <who>'
--- KEYS[18] quota
--- KEYS[19] cohort
--- KEYS[20] project_usage
--- KEYS[21] project_days
--- KEYS[22] aggregate
--- KEYS[23] server_group
--- KEYS[24] lease
--- KEYS[25] nomination
--- ARGV[1] max length   of the stream, about
--- ARGV[2] transaction  JSON
--- ARGV[3] seen         the highest revision that the writer has seen
--- @return {'committed', revision, claim token, rows}
--- @return {'unchanged'}   nothing that mirrors see was to be written; what was to be written is
--- @return {'conflict'}    a guard does not hold; nothing was written
--- @include change
--- @include head
--- @include holder

local keys = { revision = KEYS[1], changes = KEYS[2], claim_token = KEYS[15], birth = KEYS[16] }
local heartbeats_key, counters_key = KEYS[3], KEYS[4]
local tables = {
  provider = KEYS[5], usage = KEYS[6], inventory = KEYS[7], host = KEYS[8], consumer = KEYS[9],
  resource_class = KEYS[10], trait = KEYS[11], name = KEYS[12], tree = KEYS[13], sequence = KEYS[14], holder = KEYS[17],
  quota = KEYS[18], cohort = KEYS[19], project_usage = KEYS[20], project_days = KEYS[21],
  aggregate = KEYS[22], server_group = KEYS[23], lease = KEYS[24], nomination = KEYS[25],
}
local is_mirrored = {
  provider = true, usage = true, host = true, consumer = true, resource_class = true, trait = true,
}
-- Tables that mirrors of the release before do not know.
local is_new = { quota = true, aggregate = true, server_group = true, lease = true }
local tx = cjson.decode(ARGV[2])

-- Guards.

local function guard_holds(guard)
  local key, name, head = tables[guard[1]], guard[2], guard[3]
  if head then return begins(key, name, head) end
  return redis.call('HEXISTS', key, name) == 0
end

for _, guard in ipairs(tx.guards) do
  if not guard_holds(guard) then return { 'conflict' } end
end
for _, guard in ipairs(tx.counts) do
  if tonumber(redis.call('HGET', counters_key, guard[1]) or 0) ~= guard[2] then return { 'conflict' } end
end
for _, guard in ipairs(tx.silent) do
  if tonumber(redis.call('ZSCORE', heartbeats_key, guard[1]) or 0) > guard[2] then return { 'conflict' } end
end

-- Writes.

local revision, claim_token
if tx.commits then
  revision, claim_token = next_numbers(keys, tonumber(ARGV[3]))
  revision = text_of(revision)
end
local lines, new_lines = {}, {}
local function show(name, key, row)
  local line = name .. ' ' .. key .. ' ' .. row
  if is_mirrored[name] then lines[#lines + 1] = line end
  if is_new[name] then new_lines[#new_lines + 1] = line end
end
local function put(name, key, row)
  redis.call('HSET', tables[name], key, row)
  show(name, key, row)
end

local function revision_of(name, key) return string.match(redis.call('HGET', tables[name], key), '^%d+') end

local apply = {
  put = function(name, key, content) put(name, key, revision .. ' ' .. content) end,
  claim = function(name, key, content) put(name, key, revision .. ' ' .. text_of(claim_token) .. ' ' .. content) end,
  inventories = function(provider, json) redis.call('HSET', tables.inventory, provider, json) end,
  report = function(host, content, providers)
    local said = { '0', content, revision_of('host', host) }
    for provider in string.gmatch(providers, '%S+') do
      said[#said + 1] = provider
      said[#said + 1] = revision_of('provider', provider)
    end
    redis.call('HSET', tables.sequence, host, table.concat(said, ' '))
  end,
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
  beat = function(host, at_ms)
    redis.call('ZADD', heartbeats_key, 'GT', at_ms, host)
    renew_holder(tables.holder, host, store_ms())
  end,
  mute = function(host) redis.call('ZREM', heartbeats_key, host) end,
}
for _, write in ipairs(tx.writes) do apply[write[1]](write[2], write[3], write[4]) end

if not tx.commits then return { 'unchanged' } end
local rows = append_change(keys, ARGV[1], revision, claim_token, lines, new_lines)
return { 'committed', revision, text_of(claim_token), rows }
