--- Makes a run a member of a pool, or renews its membership. Members whose leases have run out are left out. The epoch of the
--- pool follows the clock, so that none is given twice though the store was wiped or restored.
---
--- KEYS[1] pools     pool -> JSON {e: epoch, m: {service host: [run, weight, until ms]}}
--- ARGV[1] pool
--- ARGV[2] service host
--- ARGV[3] run
--- ARGV[4] weight
--- ARGV[5] lease     ms
--- ARGV[6] former    a run of the service host that is dead; '' for none
--- @return one of two
---   JSON {e: epoch, m: ...}     it is a member
---   '0 <left ms> <run>'         another live run of the service host is
--- @include holder

local pool, service_host, run, former = ARGV[1], ARGV[2], ARGV[3], ARGV[6]
local weight, lease_ms, now_ms = tonumber(ARGV[4]), tonumber(ARGV[5]), store_ms()
local stored = redis.call('HGET', KEYS[1], pool)
local state = stored and cjson.decode(stored) or { e = 0, m = {} }

local mine = state.m[service_host]
if mine and mine[3] > now_ms and mine[1] ~= run and mine[1] ~= former then
  return string.format('0 %.0f ', mine[3] - now_ms) .. mine[1]
end

local is_changed = not mine or mine[1] ~= run or mine[2] ~= weight or mine[3] <= now_ms
local members = { [service_host] = { run, weight, now_ms + lease_ms } }
for name, member in pairs(state.m) do
  if name ~= service_host then
    if member[3] > now_ms then members[name] = member else is_changed = true end
  end
end
local epoch = is_changed and math.max(state.e + 1, now_ms) or state.e
local text = cjson.encode({ e = epoch, m = members })
redis.call('HSET', KEYS[1], pool, text)
return text
