--- Creates and updates a batch of records, one after the other: each is made whole or not at all, whatever becomes of the
--- others, and finds what those before it have made. Records are written once, at the end, and with them the outbox: the
--- events that are not published.
---
--- KEYS[1] requests  hash: request id to uuids joined by commas
--- KEYS[2] records   hash: uuid to record
--- KEYS[3] index     sorted set by text
--- KEYS[4] due       sorted set: uuid by due time
--- KEYS[5] ended     sorted set: uuid by the time it was deleted or ended in error
--- KEYS[6] outbox    hash: uuid to what of it is not published (include/outbox.lua)
--- KEYS[7] forgotten string: when the newest of the instances that were forgotten was created
--- KEYS[8] specs     hash: request id to the spec that its records refer to
--- KEYS[9] holders   hash of the placement store: host to '<epoch> <until ms> ...'
--- ARGV[1]   limit   instances in the outbox above which nothing is created
--- ARGV[2..] for each: 'create', request id, when it was published ('' for not known), how many instances its project may have on
---           record ('' for any number), the specs that its records refer to ('' when they have them themselves), count, and for each
---           instance uuid, project id, record;
---           or 'update', uuid, when the version before was written ('' for any time), record;
---           or 'fenced', host, epoch, and an update: only while the host is held by that epoch
---           or 'published', uuid, version: its events up to that version leave the outbox
--- @return an outcome for each. Of a create, which stores all instances of a request or none:
---         {'created'}
---         {'exists', uuid}       another request has the uuid
---         {'known', record, ...} the request is known: its records that are left, in order
---         {'expired'}            its instances may have been forgotten
---         {'full'}               the outbox is
---         {'too_many'}           its project has too many on record
---         Of an update, which writes a record over the version before it:
---         {'updated', events}    with the events in the outbox before it, if any
---         {'absent'}
---         {'other', record}      the stored record, of another version, or written at another time
---         {'unfenced'}           the host is not held by the epoch
---         Of a publication:
---         {'published'}
--- @include record
--- @include outbox

local position = 1
local function next_arg()
  position = position + 1
  return ARGV[position]
end

-- To be written, by request id, uuid and entry; false: to be removed.

local requests, specs, records, entries, due_times, ended, outbox = {}, {}, {}, {}, {}, {}, {}

local function request_of(id)
  return requests[id] or redis.call('HGET', KEYS[1], id)
end
local function record_of(uuid)
  return records[uuid] or redis.call('HGET', KEYS[2], uuid)
end
local function move(old_entry, entry)
  if old_entry == entry then return end
  if old_entry then entries[old_entry] = false end
  if entry then entries[entry] = 0 end
end

local function waiting_of(uuid)
  if outbox[uuid] ~= nil then return outbox[uuid] end
  return redis.call('HGET', KEYS[6], uuid)
end
local now
local function put_first(uuid, version)
  now = now or now_ms()
  outbox[uuid] = entry_text({ since_ms = now, version = version, events = {} })
end

local operations = {}

function operations.create()
  local request_id, published_at_ms, most, spec = next_arg(), tonumber(next_arg()), tonumber(next_arg()), next_arg()
  local rows, uuids = {}, {}
  for n = 1, tonumber(next_arg()) do
    rows[n] = { uuid = next_arg(), project = next_arg(), record = next_arg() }
    uuids[n] = rows[n].uuid
  end
  local known = request_of(request_id)
  if known then
    local answer = {'known'}
    for uuid in string.gmatch(known, '[^,]+') do answer[#answer + 1] = record_of(uuid) or nil end
    return answer
  end
  for _, uuid in ipairs(uuids) do
    if record_of(uuid) then return {'exists', uuid} end
  end
  if published_at_ms and published_at_ms <= tonumber(redis.call('GET', KEYS[7]) or 0) then return {'expired'} end
  if redis.call('HLEN', KEYS[6]) >= tonumber(ARGV[1]) then return {'full'} end
  if most and #rows > 0 then
    local count = redis.call('ZLEXCOUNT', KEYS[3], '[' .. by('project', rows[1].project, ''), '(' .. by('project', rows[1].project, '~'))
    if count + #rows > most then return {'too_many'} end
  end

  requests[request_id] = table.concat(uuids, ',')
  if spec ~= '' then specs[request_id] = spec end
  for _, row in ipairs(rows) do
    local uuid, new = row.uuid, head(row.record)
    records[uuid] = row.record
    entries[by('all', '', uuid)] = 0
    entries[by('project', row.project, uuid)] = 0
    move(false, by_state(new, uuid))
    move(false, by_host(new, uuid))
    move(false, new.state == 'pending' and by('pending', row.project, uuid))
    if new.due_at_ms ~= '-' then due_times[uuid] = new.due_at_ms end
    put_first(uuid, new.version)
    if has_ended(new) then ended[uuid] = new.updated_at_ms end
  end
  return {'created'}
end

function operations.update()
  local uuid, stored_at_ms, record = next_arg(), next_arg(), next_arg()
  local stored = record_of(uuid)
  if not stored then return {'absent'} end
  local old, new = head(stored), head(record)
  local is_other = stored_at_ms ~= '' and stored_at_ms ~= old.updated_at_ms
  if new.version ~= old.version + 1 or is_other then return {'other', stored} end

  records[uuid] = record
  due_times[uuid] = new.due_at_ms ~= '-' and new.due_at_ms
  move(by_state(old, uuid), by_state(new, uuid))
  move(by_host(old, uuid), by_host(new, uuid))
  -- Those who wait are counted by their projects.
  if (old.state == 'pending') ~= (new.state == 'pending') then
    local project = cjson.decode(string.match(record, '\n(.*)$')).projectId
    entries[by('pending', project, uuid)] = new.state == 'pending' and 0
  end
  if has_ended(new) then ended[uuid] = new.updated_at_ms
  elseif has_ended(old) then ended[uuid] = false end
  local waiting = waiting_of(uuid)
  if not waiting then
    put_first(uuid, new.version)
    return {'updated'}
  end
  local entry = entry_of(waiting)
  entry.events[#entry.events + 1] = event_of(stored)
  entry.version = new.version
  outbox[uuid] = entry_text(entry)
  return {'updated', table.concat(entry.events, '\n')}
end

function operations.fenced()
  local host, epoch = next_arg(), next_arg()
  local held, until_ms = string.match(redis.call('HGET', KEYS[9], host) or '', '^(%d+) (%d+) ')
  next_arg()
  if held == epoch and tonumber(until_ms) > now_ms() then return operations.update() end
  for _ = 1, 3 do next_arg() end
  return {'unfenced'}
end

function operations.published()
  local uuid, version = next_arg(), tonumber(next_arg())
  local waiting = waiting_of(uuid)
  if not waiting then return {'published'} end
  local entry, left = entry_of(waiting), {}
  for _, event in ipairs(entry.events) do
    if head(event).version > version then left[#left + 1] = event end
  end
  entry.events = left
  outbox[uuid] = entry.version > version and entry_text(entry)
  return {'published'}
end

local outcomes = {}
while position < #ARGV do outcomes[#outcomes + 1] = operations[next_arg()]() end

-- In chunks, because Lua limits the arguments of a call.
local function call(command, key, args)
  for from = 1, #args, 4000 do redis.call(command, key, unpack(args, from, math.min(from + 3999, #args))) end
end
local function set_fields(key, values)
  local args, removed = {}, {}
  for field, value in pairs(values) do
    if value then
      args[#args + 1] = field
      args[#args + 1] = value
    else
      removed[#removed + 1] = field
    end
  end
  call('HSET', key, args)
  call('HDEL', key, removed)
end
local function set_scores(key, scores)
  local args, removed = {}, {}
  for member, score in pairs(scores) do
    if score then
      args[#args + 1] = score
      args[#args + 1] = member
    else
      removed[#removed + 1] = member
    end
  end
  call('ZADD', key, args)
  call('ZREM', key, removed)
end
set_fields(KEYS[1], requests)
set_fields(KEYS[2], records)
set_scores(KEYS[3], entries)
set_scores(KEYS[4], due_times)
set_scores(KEYS[5], ended)
set_fields(KEYS[6], outbox)
set_fields(KEYS[8], specs)
return outcomes
