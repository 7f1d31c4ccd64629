--- Replaces what consumers hold, all of it or nothing: claim, release, replace and move are all this.
---
--- Guards of all consumers come first; then what they hold is given back; then consumer by consumer and amount by amount
--- what they take is checked and taken. `commands/allocations.ts` states the same for the memory store. Only then it
--- writes. Cells: usage '<revision> <generation> <used>', consumer '<revision> <claim revision> <generation> <created>
--- <body>', JSON at the end of each.
---
--- KEYS[1] revision         the last commit's
--- KEYS[2] changes          the stream
--- KEYS[3] usages           provider uuid -> cell
--- KEYS[4] inventories      provider uuid -> JSON, class -> list of six numbers
--- KEYS[5] consumers        uuid -> cell
--- KEYS[6] resource classes custom name -> cell
--- KEYS[7] counters         name -> number
--- ARGV[1] max length       of the stream, about
--- ARGV[2] at ms            now
--- ARGV[3] force            '1' takes what does not fit
--- ARGV[4] consumer count
--- ARGV[5..] for each consumer: uuid, guard ('any', 'absent', 'generation', 'claim'), its number, body ('' when it takes
---           nothing), group id ('' for none), host, policy, max per host, number of amounts, and for each amount:
---           provider uuid, class, amount
--- @return {'committed', revision, rows}
--- @return {'unchanged'}
--- @return {'generation', uuid, present}                  present is '' when there is no such consumer
--- @return {'not_found', subject, key}                    provider, resource_class or inventory
--- @return {'capacity', provider uuid, class, why, usage cell}
--- @return {'group', group id, host}
--- @include capacity
--- @include change

local usages_key, inventories_key, consumers_key, counters_key = KEYS[3], KEYS[4], KEYS[5], KEYS[7]
local force = ARGV[3] == '1'

local position = 4
local function next_arg()
  position = position + 1
  return ARGV[position]
end

-- What is asked.

local writes = {}
for i = 1, tonumber(ARGV[4]) do
  local write = {
    uuid = next_arg(), guard = next_arg(), expected = next_arg(), body = next_arg(),
    group = next_arg(), host = next_arg(), policy = next_arg(), max_per_host = tonumber(next_arg()), takes = {},
  }
  for t = 1, tonumber(next_arg()) do
    write.takes[t] = { provider = next_arg(), class = next_arg(), amount = tonumber(next_arg()) }
  end
  writes[i] = write
end

-- What is there, read once.

local function read_consumer(uuid)
  local cell = redis.call('HGET', consumers_key, uuid)
  if not cell then return nil end
  local claim, generation, created, body = string.match(cell, '^%d+ (%d+) (%d+) (%d+) (.*)$')
  return { claim = claim, generation = generation, created = created, row = cjson.decode(body) }
end

local usages, touched = {}, {}
local function usage_of(provider)
  local usage = usages[provider]
  if usage then return usage end
  local cell = redis.call('HGET', usages_key, provider) or '0 0 {}'
  local generation, used = string.match(cell, '^%d+ (%d+) (.*)$')
  usage = { cell = cell, generation = tonumber(generation), used = cjson.decode(used), growth = {} }
  usages[provider] = usage
  touched[#touched + 1] = provider
  return usage
end

local function add(amounts, class, amount)
  amounts[class] = (amounts[class] or 0) + amount
end

local inventories = {}
local function inventories_of(provider)
  if inventories[provider] == nil then
    local json = redis.call('HGET', inventories_key, provider)
    inventories[provider] = json and cjson.decode(json)
  end
  return inventories[provider]
end

local counts, moves, moved = {}, {}, {}
local function count_of(counter)
  if not counts[counter] then counts[counter] = tonumber(redis.call('HGET', counters_key, counter) or 0) end
  return counts[counter] + (moves[counter] or 0)
end
local function move(counter, by)
  if not moves[counter] then moved[#moved + 1] = counter end
  add(moves, counter, by)
end
local function join(group, host, by)
  move('group ' .. group, by)
  move('group ' .. group .. '\n' .. host, by)
end

-- Guards.

local is_idle = true
for _, write in ipairs(writes) do
  local old = read_consumer(write.uuid)
  write.old = old
  local present = ''
  if old then present = write.guard == 'claim' and old.claim or old.generation end
  local holds = write.guard == 'any' or present == write.expected
  if not holds then return { 'generation', write.uuid, present } end
  if old or #write.takes > 0 then is_idle = false end
end
if is_idle then return { 'unchanged' } end

-- Give back, then take.

for _, write in ipairs(writes) do
  local old = write.old
  if old then
    for provider, resources in pairs(old.row.allocations) do
      local usage = usage_of(provider)
      for class, amount in pairs(resources) do
        add(usage.used, class, -amount)
        add(usage.growth, class, -amount)
      end
    end
    if old.row.groupHost then join(old.row.groupId, old.row.groupHost, -1) end
  end
end
for _, write in ipairs(writes) do
  for _, take in ipairs(write.takes) do add(usage_of(take.provider).growth, take.class, take.amount) end
end

local function refusal_of_take(take)
  local provider, class, amount = take.provider, take.class, take.amount
  local all = inventories_of(provider)
  if not all then return { 'not_found', 'provider', provider } end
  local inventory = all[class]
  if not inventory then
    local is_custom = string.sub(class, 1, 7) == 'CUSTOM_'
    if is_custom and redis.call('HEXISTS', KEYS[6], class) == 0 then return { 'not_found', 'resource_class', class } end
    return { 'not_found', 'inventory', provider .. ' ' .. class }
  end
  local usage = usage_of(provider)
  local why = not force and refusal_of(inventory, usage.used[class] or 0, amount)
  if why == 'capacity' then
    -- Over its capacity already: what makes it no worse is taken.
    if usage.growth[class] > 0 then return { 'capacity', provider, class, why, usage.cell } end
  elseif why then
    return { 'capacity', provider, class, why, usage.cell }
  end
  add(usage.used, class, amount)
  usage.is_raised = true
  return nil
end

local function is_forbidden(write)
  local here = count_of('group ' .. write.group .. '\n' .. write.host)
  if write.policy == 'affinity' then return count_of('group ' .. write.group) > here end
  return write.policy == 'anti-affinity' and here >= write.max_per_host
end

for _, write in ipairs(writes) do
  for _, take in ipairs(write.takes) do
    local refusal = refusal_of_take(take)
    if refusal then return refusal end
  end
  if write.group ~= '' and #write.takes > 0 then
    if not force and is_forbidden(write) then return { 'group', write.group, write.host } end
    join(write.group, write.host, 1)
  end
end

-- Everything fits: write.

local revision = next_revision(KEYS[1], ARGV[2])
local lines = {}
for _, provider in ipairs(touched) do
  local usage = usages[provider]
  for class, amount in pairs(usage.used) do
    if amount == 0 then usage.used[class] = nil end
  end
  local generation = usage.generation + (usage.is_raised and 1 or 0)
  local cell = revision .. ' ' .. generation .. ' ' .. cjson.encode(usage.used)
  redis.call('HSET', usages_key, provider, cell)
  lines[#lines + 1] = 'usage ' .. provider .. ' ' .. cell
end
for _, write in ipairs(writes) do
  if #write.takes > 0 then
    local generation = (write.old and tonumber(write.old.generation) or 0) + 1
    local created = write.old and write.old.created or ARGV[2]
    local cell = revision .. ' ' .. revision .. ' ' .. generation .. ' ' .. created .. ' ' .. write.body
    redis.call('HSET', consumers_key, write.uuid, cell)
    lines[#lines + 1] = 'consumer ' .. write.uuid .. ' ' .. cell
  elseif write.old then
    redis.call('HDEL', consumers_key, write.uuid)
    lines[#lines + 1] = 'consumer ' .. write.uuid .. ' '
  end
end
for _, counter in ipairs(moved) do
  if redis.call('HINCRBY', counters_key, counter, moves[counter]) == 0 then redis.call('HDEL', counters_key, counter) end
end
return { 'committed', revision, append_change(KEYS[2], ARGV[1], revision, lines) }
