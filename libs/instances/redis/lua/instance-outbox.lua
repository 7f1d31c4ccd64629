--- Reads some of what waits to be published.
--- KEYS[1] outbox  hash: uuid to what of it is not published (include/outbox.lua)
--- KEYS[2] records hash: uuid to record
--- ARGV[1] cursor  0 to begin
--- ARGV[2] count   instances to look at, about
--- ARGV[3] min_age milliseconds
--- @return the next cursor, '0' at the end; how many instances were there, the age of the oldest in milliseconds; then the
---         events of each that is old enough, oldest version first
--- @include record
--- @include outbox
--- @readonly
local cursor, found = unpack(redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2]))
local answer = { cursor, #found / 2, 0 }
local now = now_ms()
for n = 1, #found, 2 do
  local entry = entry_of(found[n + 1])
  local age_ms = now - entry.since_ms
  answer[3] = math.max(answer[3], age_ms)
  if age_ms >= tonumber(ARGV[3]) then
    entry.events[#entry.events + 1] = event_of(redis.call('HGET', KEYS[2], found[n]))
    answer[#answer + 1] = table.concat(entry.events, '\n')
  end
end
return answer
