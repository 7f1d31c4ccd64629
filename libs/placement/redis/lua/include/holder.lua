-- The holder of a host is '<epoch> <until ms> <lease ms> <who>', by the store's clock.

local function store_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Epoch, until, lease and who, or nothing.
local function parse_holder(row)
  local epoch, until_ms, lease_ms, who = string.match(row or '', '^(%d+) (%d+) (%d+) (.*)$')
  return tonumber(epoch), tonumber(until_ms), tonumber(lease_ms), who
end
local function format_holder(epoch, until_ms, lease_ms, who)
  return string.format('%.0f %.0f %.0f ', epoch, until_ms, lease_ms) .. who
end

-- The lease of whoever holds the host begins anew.
local function renew_holder(key, host, now_ms)
  local epoch, until_ms, lease_ms, who = parse_holder(redis.call('HGET', key, host))
  if not epoch or lease_ms == 0 then return end
  redis.call('HSET', key, host, format_holder(epoch, math.max(until_ms, now_ms + lease_ms), lease_ms, who))
end
