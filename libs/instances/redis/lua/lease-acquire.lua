--- Takes or renews a lease.
--- KEYS[1] lease   string: its holder, with a time to live
--- KEYS[2] epochs  hash: lease name to its last epoch
--- ARGV[1] name
--- ARGV[2] holder
--- ARGV[3] ttl     milliseconds
--- @return the epoch, or 0 when somebody else holds it
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[2] then return 0 end
local epoch = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or 0)
if holder then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return epoch
end
-- Epochs follow the clock, so that they still rise after the store has lost everything.
epoch = math.max(epoch + 1, tonumber(redis.call('TIME')[1]))
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('HSET', KEYS[2], ARGV[1], epoch)
return epoch
