--- Releases a lease.
--- KEYS[1] lease   string: its holder
--- ARGV[1] holder
--- @return 1 if it was the holder's, else 0
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
