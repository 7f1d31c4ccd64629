--- Replaces what consumers hold: claim, release, replace and move are all this. Takes a batch of commits, one after the
--- other: each is made whole or not at all, whatever becomes of the others, and finds what those before it have made. The
--- commits that are made share one revision and one change in the stream; each has a claim token of its own.
---
--- Within a commit, the owners and guards of all consumers come first, then quotas; then what they hold is given back; then consumer by consumer
--- and amount by amount what they take is checked and taken: against the capacity, and against what is nominated for others. `commands/allocations.ts` states the same for the memory
--- store. All of it happens to what was read of the store; rows are written once, at the end.
---
--- Rows: usage '<revision> <generation> <used>', used being JSON, and consumer '<revision> <claim token> <generation>
--- <created> <body>'. A body is '<provider uuid> <class> <amount> <class> <amount> ...', with ';' between providers, a tab,
--- and a JSON list: the first is the project, the third the consumer type, the fourth the owner, the seventh the group and the eighth the host that the
--- membership counts for, if there is a group, the ninth and tenth by what it spreads and the host's domain, if it does; of a place that is kept
--- for a member, the thirteenth is the domain to which the member has moved, or ''; the fourteenth is what it counts for in quotas, class ->
--- amount, if that is not what it takes. What a project holds, '<revision> <since ms> <used> <accrued>': used is JSON,
--- class -> amount, and accrued day -> class -> unit-milliseconds. Projects are written as include/project.lua does.
---
--- KEYS[1] revision         the last commit's
--- KEYS[2] changes          the stream
--- KEYS[3] usages           provider uuid -> row
--- KEYS[4] inventories      provider uuid -> JSON, class -> list of six numbers
--- KEYS[5] consumers        uuid -> row
--- KEYS[6] resource classes custom name -> row
--- KEYS[7] counters         name -> number
--- KEYS[8] claim token      the last commit's
--- KEYS[9] birth            which store this is
--- KEYS[10] quotas          project -> '<revision> <JSON>', limits, borrowLimits, lendLimits and cohort; the default's is ''
--- KEYS[11] cohorts         name -> '<revision> <JSON>', the list of members
--- KEYS[12] project usages  project -> row
--- KEYS[13] nominations     provider uuid -> '<revision> <JSON>', consumer uuid -> { priority, untilMs, resources }
--- ARGV[1] max length       of the stream, about
--- ARGV[2] seen             the highest revision that the writer has seen
--- ARGV[3] commit count
--- ARGV[4..] for each commit: '<at ms> <force> <quotas> <consumer count>', force 1 takes what does not fit, 2 only within totals, quotas 1 refuses
---           what would exceed one; and for each consumer:
---           uuid
---           '<guard> <number> <raises> <owner> <instance> <type> <project>', a guard of any, absent, generation or claim;
---           raises 1: giving back raises generations; instance 1: it is one, 2: it is a
---           part of an earlier claim, which units do not bind and which counts for what its body says; type: the consumer
---           type, '-' for none; the project may be '' where nothing is taken
---           body, '' when it takes nothing
---           '<policy> <max per host> <host> <bytes of project id> <bytes of group id>\n<project id><group id><spread>', ''
---           for none; the spread is '' or a JSON list, by what or null, the maximum skew, the host's domain or null, all domains,
---           and of a place that is kept for a member, the domain to which the member moves, or ''
--- @return {revision, rows, claim token, refusal, ...}   revision and rows are '' when no commit was made; rows are those
---         of the stream, but without the bodies of consumers, which the caller knows; the claim token is that of the first
---         commit that was made, the next one's is one higher; for each commit that was not made:
---         {i, 'unchanged'}                               i from 1
---         {i, 'owner', uuid, owner}                      it is another's, or of another type or project
---         {i, 'generation', uuid, present}               present is '' when there is no such consumer
---         {i, 'not_found', subject, key}                 provider, resource_class or inventory
---         {i, 'capacity', provider uuid, class, why, usage row}
---         {i, 'nominated', provider uuid, class}
---         {i, 'group', group id, host}
---         {i, 'quota', JSON}                             a list of {scope, name, class, used, asked, limit}
--- @include capacity
--- @include project
--- @include quota
--- @include accrue
--- @include change
--- @include spread

local keys = { revision = KEYS[1], changes = KEYS[2], claim_token = KEYS[8], birth = KEYS[9] }
local usages_key, inventories_key, consumers_key, counters_key = KEYS[3], KEYS[4], KEYS[5], KEYS[7]
local quotas_key, cohorts_key, project_usages_key = KEYS[10], KEYS[11], KEYS[12]
local next_revision, first_token = next_numbers(keys, tonumber(ARGV[2]))
local revision = text_of(next_revision)
local made_count = 0

local position = 3
local function next_arg()
  position = position + 1
  return ARGV[position]
end

local function takes_of(body)
  local takes = {}
  for provider, amounts in string.gmatch(string.match(body, '^[^\t]*'), '([^;]%S*) ([^;]*)') do
    for class, amount in string.gmatch(amounts, '(%S+) (%S+)') do
      takes[#takes + 1] = { provider = provider, class = class, amount = tonumber(amount) }
    end
  end
  return takes
end

local function text_or_nil(value) return type(value) == 'string' and value or nil end

local function next_commit()
  local at_ms, force, quotas, count = string.match(next_arg(), '^(%S+) (%d) (%d) (%d+)$')
  local commit = { at_ms = at_ms, force = force ~= '0', within_total = force == '2', is_within_quota = quotas == '1', writes = {}, own = {} }
  for i = 1, tonumber(count) do
    local uuid = next_arg()
    local guard, expected, raises, owner, instance, type, project_key =
      string.match(next_arg(), '^(%l+) (%S*) (%d) (%l+) (%d) (%S+) (%S*)$')
    local body = next_arg()
    local policy, max_per_host, host, bytes, group_bytes, names =
      string.match(next_arg(), '^(%S+) (%S+) ([^\n]*) (%d+) (%d+)\n(.*)$')
    local group_end = names and bytes + group_bytes
    local spread = names and #names > group_end and cjson.decode(string.sub(names, group_end + 1))
    commit.writes[i] = {
      uuid = uuid, owner = owner, body = body, takes = takes_of(body),
      guard = guard, expected = expected, raises_released = raises == '1',
      type = type, is_instance = instance == '1', project_key = project_key,
      counted = instance == '2' and body ~= '' and cjson.decode(string.match(body, '\t(.*)$'))[14] or nil,
      policy = policy, max_per_host = tonumber(max_per_host), host = host,
      project = names and string.sub(names, 1, bytes), group = names and string.sub(names, bytes + 1, group_end),
      spread = spread and text_or_nil(spread[1])
        and { by = spread[1], max_skew = spread[2], domain = text_or_nil(spread[3]), among = spread[4] },
      moved_to = spread and text_or_nil(spread[5]),
      taken = 0, has_joined = false,
    }
    commit.own[uuid] = true
  end
  return commit
end

-- State: read once, and from then on as the commits so far have made it.

local function read_consumer(uuid)
  local row = redis.call('HGET', consumers_key, uuid)
  if not row then return false end
  local claim, generation, created, body = string.match(row, '^%d+ (%d+) (%d+) (%d+) (.*)$')
  local rest = cjson.decode(string.match(body, '\t(.*)$'))
  return {
    claim = claim, generation = generation, created = created,
    takes = takes_of(body), project = rest[1], owner = rest[4], group = rest[7], host = rest[8],
    spread = rest[9] and { by = rest[9], domain = rest[10] }, moved_to = text_or_nil(rest[13]),
    type = rest[3], is_instance = rest[3] == 'INSTANCE', project_key = project_key(rest[1]), counted = rest[14],
  }
end

-- By uuid, the last write of this batch that was made.
local written = {}
-- What a consumer holds; false when it holds nothing.
local function consumer_of(uuid)
  local write = written[uuid]
  if write then return #write.takes > 0 and write end
  return read_consumer(uuid)
end

local usages = {}
local function usage_of(provider)
  local usage = usages[provider]
  if usage then return usage end
  local row = redis.call('HGET', usages_key, provider) or '0 0 {}'
  local generation, used = string.match(row, '^%d+ (%d+) (.*)$')
  usage = {
    provider = provider, row = row, generation = tonumber(generation), used = cjson.decode(used),
    is_changed = false, raised_by = false,
  }
  usages[provider] = usage
  return usage
end

local inventories = {}
local function inventories_of(provider)
  if inventories[provider] == nil then
    local json = redis.call('HGET', inventories_key, provider)
    inventories[provider] = json and cjson.decode(json)
  end
  return inventories[provider]
end

-- What is nominated on a provider: most often nothing anywhere, which one command tells.
local has_nominations
local nominations = {}
local function nominations_of(provider)
  if has_nominations == nil then has_nominations = redis.call('HLEN', KEYS[13]) > 0 end
  if not has_nominations then return {} end
  if not nominations[provider] then
    local row = redis.call('HGET', KEYS[13], provider)
    nominations[provider] = row and cjson.decode(string.match(row, '^%d+ (.*)$')) or {}
  end
  return nominations[provider]
end

-- What the rule of quotas reads.
local state = {}

local quotas = {}
function state.quota(project)
  if quotas[project] == nil then
    local row = redis.call('HGET', quotas_key, project)
    quotas[project] = row and cjson.decode(string.match(row, '^%d+ (.*)$'))
  end
  return quotas[project]
end

function state.members(cohort)
  local row = redis.call('HGET', cohorts_key, project_key(cohort))
  return row and cjson.decode(string.match(row, '^%d+ (.*)$')) or {}
end

local projects = {}
local function project_of(key)
  local project = projects[key]
  if project then return project end
  local row = redis.call('HGET', project_usages_key, key)
  if row then
    local at_ms, used, accrued = string.match(row, '^%d+ (%d+) (%S+) (%S+)$')
    project = { at_ms = tonumber(at_ms), used = cjson.decode(used), accrued = cjson.decode(accrued) }
  else
    project = { at_ms = 0, used = {}, accrued = {} }
  end
  project.key = key
  projects[key] = project
  return project
end

function state.usage(project) return project_of(project).used end

local counts, moves = {}, {}
local function count_of(counter)
  if not counts[counter] then counts[counter] = tonumber(redis.call('HGET', counters_key, counter) or 0) end
  return counts[counter] + (moves[counter] or 0)
end

-- To be written: usages, and writes of consumers, of which each consumer's last counts.

local changed_usages, changed_consumers, changed_projects = {}, {}, {}

-- Adds to what is used, or with -1 takes away.
local function use(take, by)
  local used = usage_of(take.provider).used
  used[take.class] = (used[take.class] or 0) + by * take.amount
end
local function group_key_of(member) return #member.project .. ':' .. member.project .. member.group end
local function kept_on(member) return 'kept-on ' .. member.host .. ' ' .. group_key_of(member) end
-- The counters of a group's members, all of them, those on a host and those in its domain; and of those that claimed before 0.2. Of
-- places that are kept for members likewise: a member that moves within its domain counts there whatever becomes of the move.
local function counters_of(member)
  local key, spread = group_key_of(member), member.spread or {}
  if member.moved_to then
    local kept = { all = 'kept ' .. key, here = kept_on(member) }
    if not spread.domain or spread.domain == member.moved_to then return kept end
    kept.left = domain_counter('kept-in ', spread.by, spread.domain, key)
    if member.moved_to ~= '' then kept.entered = domain_counter('passing-in ', spread.by, member.moved_to, key) end
    return kept
  end
  local old = 'group ' .. member.group
  return {
    all = 'members ' .. key,
    here = 'members-on ' .. member.host .. ' ' .. key,
    in_domain = domain_counter('members-in ', spread.by, spread.domain, key),
  }, { all = old, here = old .. '\n' .. member.host }
end
local function count(counters, by)
  for _, name in pairs(counters) do moves[name] = (moves[name] or 0) + by end
end
local function join(member)
  count(counters_of(member), 1)
end
local function leave(member)
  local present, old = counters_of(member)
  member.left = (not old or count_of(present.here) > 0) and present or old
  count(member.left, -1)
end
local function hold(old, by)
  for _, take in ipairs(old.takes) do use(take, by) end
  if not old.group then return end
  if by < 0 then leave(old) else count(old.left, by) end
end

local function is_forbidden(write)
  if write.spread and is_skewed(write.spread, group_key_of(write), count_of) then return true end
  local present, old = counters_of(write)
  local here = count_of(present.here) + count_of(old.here)
  local kept_here = count_of(kept_on(write))
  if write.policy == 'affinity' then
    if count_of('kept ' .. group_key_of(write)) > kept_here then return true end
    return here == 0 and count_of(present.all) + count_of(old.all) > 0
  end
  return write.policy == 'anti-affinity' and here + kept_here >= math.max(1, write.max_per_host)
end

-- By how much a commit raises what is used, over all its consumers. Summed up once, when it is asked for the first time.
local function growth_by(commit, provider, class)
  local growth = commit.growth
  if not growth then
    growth = {}
    commit.growth = growth
    local function add(takes, by)
      for _, take in ipairs(takes) do
        local classes = growth[take.provider] or {}
        growth[take.provider] = classes
        classes[take.class] = (classes[take.class] or 0) + by * take.amount
      end
    end
    for _, write in ipairs(commit.writes) do
      add(write.takes, 1)
      if write.old then add(write.old.takes, -1) end
    end
  end
  return growth[provider] and growth[provider][class] or 0
end

-- By how much a commit raises what projects hold.
local function growth_of(commit)
  local growth = { order = {}, by = {} }
  local function add(consumer, by)
    if #consumer.takes == 0 then return end
    local key = consumer.project_key
    local sum = growth.by[key]
    if not sum then
      sum = {}
      growth.by[key], growth.order[#growth.order + 1] = sum, key
    end
    if consumer.counted then
      for class, amount in pairs(consumer.counted) do sum[class] = (sum[class] or 0) + by * amount end
      return
    end
    for _, take in ipairs(consumer.takes) do sum[take.class] = (sum[take.class] or 0) + by * take.amount end
    if consumer.is_instance then sum.instances = (sum.instances or 0) + by end
  end
  for _, write in ipairs(commit.writes) do
    add(write, 1)
    if write.old then add(write.old, -1) end
  end
  return growth
end

local function grow(growth, at_ms)
  for _, key in ipairs(growth.order) do
    local project, is_grown = project_of(key), false
    for _, by in pairs(growth.by[key]) do is_grown = is_grown or by ~= 0 end
    if is_grown then
      accrue(project, at_ms)
      for class, by in pairs(growth.by[key]) do project.used[class] = (project.used[class] or 0) + by end
      if not project.is_changed then changed_projects[#changed_projects + 1] = project end
      project.is_changed = true
    end
  end
end

-- The eleventh of a body's list.
local function priority_of(write)
  if not write.priority then
    write.priority = tonumber(cjson.decode(string.match(write.body, '\t(.*)$'))[11] or 0) or 0
  end
  return write.priority
end

-- Whether what is left would be too little for those for whom others make room.
local function is_nominated(take, write, commit, inventory)
  if write.owner ~= 'conductor' then return false end
  local kept = 0
  for uuid, one in pairs(nominations_of(take.provider)) do
    local is_before = one.priority >= priority_of(write) and one.untilMs > tonumber(commit.at_ms) and not commit.own[uuid]
    if is_before and not consumer_of(uuid) then kept = kept + (one.resources[take.class] or 0) end
  end
  local used = usage_of(take.provider).used[take.class] or 0
  return kept > 0 and refusal_of(inventory, used + kept, take.amount) == 'capacity'
end

-- Whether a provider is a node of bare metal that another consumer has some of: such a node is one consumer's, whatever it shows.
local function is_taken_node(provider)
  local is_used = false
  for _, used in pairs(usage_of(provider).used) do is_used = is_used or used > 0 end
  if not is_used then return false end
  for class in pairs(inventories_of(provider)) do
    if string.sub(class, 1, 17) == 'CUSTOM_BAREMETAL_' then return true end
  end
  return false
end

local function refusal_of_take(take, write, commit, is_first)
  local provider, class, amount = take.provider, take.class, take.amount
  local all = inventories_of(provider)
  if not all then return { 'not_found', 'provider', provider } end
  if is_first and not commit.force and is_taken_node(provider) then
    return { 'capacity', provider, class, 'capacity' }
  end
  local inventory = all[class]
  if not inventory then
    local is_custom = string.sub(class, 1, 7) == 'CUSTOM_'
    if is_custom and redis.call('HEXISTS', KEYS[6], class) == 0 then return { 'not_found', 'resource_class', class } end
    return { 'not_found', 'inventory', provider .. ' ' .. class }
  end
  if commit.within_total then
    local whole = { inventory[1], 0, inventory[3], 1, math.huge, 1 }
    local why = refusal_of(whole, usage_of(provider).used[class] or 0, amount)
    if why then return { 'capacity', provider, class, why } end
  end
  if commit.force then return nil end
  -- A part of an earlier claim may be of any size.
  if write.counted then inventory = { inventory[1], inventory[2], inventory[3], 1, math.huge, 1 } end
  local why = refusal_of(inventory, usage_of(provider).used[class] or 0, amount)
  -- Over its capacity already: what makes it no worse is accepted.
  if why then
    if why == 'capacity' and growth_by(commit, provider, class) <= 0 then return nil end
    return { 'capacity', provider, class, why }
  end
  if is_nominated(take, write, commit, inventory) and growth_by(commit, provider, class) > 0 then
    return { 'nominated', provider, class }
  end
  return nil
end

-- Takes what a consumer is to hold; nil, or why it is refused, with all before the refusal taken.
local function refusal_of_write(write, commit)
  for i, take in ipairs(write.takes) do
    local is_first = i == 1 or write.takes[i - 1].provider ~= take.provider
    local refusal = refusal_of_take(take, write, commit, is_first)
    if refusal then return refusal end
    use(take, 1)
    write.taken = i
  end
  if write.group and #write.takes > 0 then
    -- An affinity group that leaves its host in this commit, as one, does not hold itself back.
    if write.moved_to and write.policy == 'affinity' then return nil end
    if not commit.force and not write.moved_to and is_forbidden(write) then
      return { 'group', write.group, write.host }
    end
    join(write)
    write.has_joined = true
  end
  return nil
end

local function undo(commit)
  for _, write in ipairs(commit.writes) do
    for i = 1, write.taken do use(write.takes[i], -1) end
    if write.has_joined then count(counters_of(write), -1) end
    if write.old then hold(write.old, 1) end
  end
end

local function mark_changed(takes, commit, raises)
  for _, take in ipairs(takes) do
    local usage = usage_of(take.provider)
    if raises and usage.raised_by ~= commit then
      usage.generation, usage.raised_by = usage.generation + 1, commit
    end
    if not usage.is_changed then changed_usages[#changed_usages + 1] = usage end
    usage.is_changed = true
  end
end

-- True when a write is for what the consumer is, and whose; clients of the placement API may change both.
local function is_own(write, old)
  if old.owner ~= write.owner then return false end
  if write.owner == 'api' then return true end
  if old.type ~= write.type then return false end
  return old.project_key == write.project_key or (write.project_key == '' and #write.takes == 0)
end

-- Decides a commit; nil when it was made, or why it is refused.
local function refusal_of_commit(commit)
  local is_idle = true
  for _, write in ipairs(commit.writes) do
    local old = consumer_of(write.uuid)
    write.old = old
    if old and not is_own(write, old) then return { 'owner', write.uuid, old.owner } end
    local present = ''
    if old then present = write.guard == 'claim' and old.claim or old.generation end
    local holds = write.guard == 'any' or present == write.expected
    if not holds then return { 'generation', write.uuid, present } end
    if old or #write.takes > 0 then is_idle = false end
  end
  if is_idle then return { 'unchanged' } end

  local growth = growth_of(commit)
  if commit.is_within_quota and not commit.force then
    local excess = excess_of(growth, state)
    if #excess > 0 then return { 'quota', cjson.encode(excess) } end
  end
  for _, write in ipairs(commit.writes) do
    if write.old then hold(write.old, -1) end
  end
  for _, write in ipairs(commit.writes) do
    local refusal = refusal_of_write(write, commit)
    if refusal then
      undo(commit)
      return refusal
    end
  end

  -- Everything fits.
  for _, write in ipairs(commit.writes) do
    if write.group and #write.takes > 0 and not write.has_joined then
      join(write)
      write.has_joined = true
    end
  end
  grow(growth, tonumber(commit.at_ms))
  local token = text_of(first_token + made_count)
  made_count = made_count + 1
  for _, write in ipairs(commit.writes) do
    local old = write.old
    if old then mark_changed(old.takes, commit, write.raises_released) end
    mark_changed(write.takes, commit, true)
    write.claim, write.generation = token, old and text_of(tonumber(old.generation) + 1) or '1'
    write.created = old and old.created or commit.at_ms
    if old or #write.takes > 0 then
      changed_consumers[#changed_consumers + 1] = write
      written[write.uuid] = write
    end
  end
  return nil
end

local reply = { '', '', text_of(first_token) }
for i = 1, tonumber(ARGV[3]) do
  local refusal = refusal_of_commit(next_commit())
  if refusal then
    table.insert(refusal, 1, i)
    reply[#reply + 1] = refusal
  end
end

-- All is decided: write.

-- Sets rows, given as { key, row, key, row, ... }, with one command for hundreds: each costs more than its rows.
local function set_rows(table_key, rows)
  for from = 1, #rows, 1000 do
    redis.call('HSET', table_key, unpack(rows, from, math.min(from + 999, #rows)))
  end
end

if made_count > 0 then
  -- For the stream, and for the caller.
  local lines, brief = {}, {}
  local usage_rows, consumer_rows = {}, {}
  for _, usage in ipairs(changed_usages) do
    for class, amount in pairs(usage.used) do
      if amount == 0 then usage.used[class] = nil end
    end
    usage.row = revision .. ' ' .. usage.generation .. ' ' .. cjson.encode(usage.used)
    usage_rows[#usage_rows + 1], usage_rows[#usage_rows + 2] = usage.provider, usage.row
    local line = 'usage ' .. usage.provider .. ' ' .. usage.row
    lines[#lines + 1], brief[#brief + 1] = line, line
  end
  for _, write in ipairs(changed_consumers) do
    local uuid, head, row = write.uuid, '', ''
    if written[uuid] == write then
      if #write.takes > 0 then
        head = revision .. ' ' .. write.claim .. ' ' .. write.generation .. ' ' .. write.created
        row = head .. ' ' .. write.body
        consumer_rows[#consumer_rows + 1], consumer_rows[#consumer_rows + 2] = uuid, row
      else
        redis.call('HDEL', consumers_key, uuid)
      end
      lines[#lines + 1] = 'consumer ' .. uuid .. ' ' .. row
      brief[#brief + 1] = 'consumer ' .. uuid .. ' ' .. head
    end
  end
  local project_rows = {}
  for _, project in ipairs(changed_projects) do
    for class, amount in pairs(project.used) do
      if amount == 0 then project.used[class] = nil end
    end
    local used, accrued = cjson.encode(project.used), cjson.encode(project.accrued)
    local row = revision .. ' ' .. text_of(project.at_ms) .. ' ' .. used .. ' ' .. accrued
    project_rows[#project_rows + 1], project_rows[#project_rows + 2] = project.key, row
  end
  set_rows(usages_key, usage_rows)
  set_rows(consumers_key, consumer_rows)
  set_rows(project_usages_key, project_rows)
  for counter, by in pairs(moves) do
    if by ~= 0 and redis.call('HINCRBY', counters_key, counter, by) == 0 then redis.call('HDEL', counters_key, counter) end
  end
  append_change(keys, ARGV[1], revision, first_token + made_count - 1, lines)
  reply[1], reply[2] = revision, table.concat(brief, '\n')
end
for i = 4, #reply do
  if reply[i][2] == 'capacity' then reply[i][6] = usages[reply[i][3]].row end
end
return reply
