-- Move an entry to the dead letters; a typed failure, when given, takes its place in the rollouts.
-- KEYS source, rollouts, dead
-- ARGV consumer group, entry id, reason, capacity, letters kept, then the failure's fields
if redis.call('EXISTS', KEYS[2]) == 0 then return 'gone' end
local entry = redis.call('XRANGE', KEYS[1], ARGV[2], ARGV[2])[1]
if not entry then return 'gone' end
if #ARGV > 5 then
  if KEYS[1] ~= KEYS[2] then
    local undelivered = redis.call('XLEN', KEYS[2]) - redis.call('XPENDING', KEYS[2], 'learner')[1]
    if undelivered >= tonumber(ARGV[4]) then return 'full' end
  end
  redis.call('XADD', KEYS[2], '*', unpack(ARGV, 6))
end
local data = ''
for i = 1, #entry[2], 2 do
  if entry[2][i] == 'data' then data = string.sub(entry[2][i + 1], 1, 4096) end
end
redis.call('XADD', KEYS[3], 'MAXLEN', ARGV[5], '*',
  'stream', KEYS[1], 'entry', ARGV[2], 'reason', ARGV[3], 'data', data)
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
redis.call('XDEL', KEYS[1], ARGV[2])
return 'ok'
