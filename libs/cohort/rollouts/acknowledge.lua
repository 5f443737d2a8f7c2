-- Forget groups that are committed. The low-water mark moves first: from then on it, and no longer
-- the set of dispatched ids, refuses their repetition.
-- KEYS fence, committed, dispatched, rollouts   ARGV fence, committed step or '', entry ids...
local current = tonumber(redis.call('GET', KEYS[1]) or '')
if not current or current < tonumber(ARGV[1]) then return 'lost' end
if current > tonumber(ARGV[1]) then return 'fenced' end
local step, committed = tonumber(ARGV[2]), tonumber(redis.call('GET', KEYS[2]) or '')
if step and (not committed or step > committed) then redis.call('SET', KEYS[2], ARGV[2]) end
for i = 3, #ARGV do
  local entry = redis.call('XRANGE', KEYS[4], ARGV[i], ARGV[i])[1]
  if entry then
    for j = 1, #entry[2], 2 do
      if entry[2][j] == 'group' then redis.call('SREM', KEYS[3], entry[2][j + 1]) end
    end
    redis.call('XACK', KEYS[4], 'learner', ARGV[i])
    redis.call('XDEL', KEYS[4], ARGV[i])
  end
end
return 'ok'
