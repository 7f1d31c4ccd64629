--- Ends a membership, if it is the run's; the epoch of the pool rises.
---
--- KEYS[1] pools     pool -> JSON {e: epoch, m: {service host: [run, weight, until ms]}}
--- ARGV[1] pool
--- ARGV[2] service host
--- ARGV[3] run
--- @return nothing

local stored = redis.call('HGET', KEYS[1], ARGV[1])
if not stored then return end
local state = cjson.decode(stored)
local mine = state.m[ARGV[2]]
if not mine or mine[1] ~= ARGV[3] then return end
local members, is_empty = {}, true
for name, member in pairs(state.m) do
  if name ~= ARGV[2] then members[name], is_empty = member, false end
end
local text = '{"e":' .. string.format('%.0f', state.e + 1) .. ',"m":' .. (is_empty and '{}' or cjson.encode(members)) .. '}'
redis.call('HSET', KEYS[1], ARGV[1], text)
