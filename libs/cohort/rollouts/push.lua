-- Admit one group and finish its prompt. The prompt's entry is the right to be admitted: it is
-- deleted with the first push, so a second one, however late, is a duplicate.
-- KEYS prompts, rollouts, committed   ARGV prompt entry, capacity, group, step, purpose, then the fields
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('EXISTS', KEYS[2]) == 0 then return 'closed' end
local prompt = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not prompt then return 'dup' end
local mine = false
for i = 1, #prompt[2], 2 do
  if prompt[2][i] == 'group' and prompt[2][i + 1] == ARGV[3] then mine = true end
end
if not mine then return 'dup' end
local committed = tonumber(redis.call('GET', KEYS[3]) or '')
local late = ARGV[5] == 'train' and committed and tonumber(ARGV[4]) <= committed
if not late then
  local undelivered = redis.call('XLEN', KEYS[2]) - redis.call('XPENDING', KEYS[2], 'learner')[1]
  if undelivered >= tonumber(ARGV[2]) then return 'full' end
  redis.call('XADD', KEYS[2], '*', unpack(ARGV, 6))
end
redis.call('XACK', KEYS[1], 'workers', ARGV[1])
redis.call('XDEL', KEYS[1], ARGV[1])
return late and 'dup' or 'ok'
