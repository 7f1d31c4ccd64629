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
state.m[ARGV[2]] = nil
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode({ e = state.e + 1, m = state.m }))
