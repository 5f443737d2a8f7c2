-- Make the queue agree with the commit from which a new learner goes on. Prompts that nobody has
-- answered are taken back: evaluations, and groups of steps above the last that can be answered now.
-- A worker that holds one finds out when it renews its lease; what it pushes is a duplicate.
-- KEYS fence, committed, dispatched, prompts   ARGV fence, committed step, last step to keep
local current = tonumber(redis.call('GET', KEYS[1]) or '')
if not current or current < tonumber(ARGV[1]) then return 'lost' end
if current > tonumber(ARGV[1]) then return 'fenced' end
local committed = tonumber(redis.call('GET', KEYS[2]) or '')
if committed and committed > tonumber(ARGV[2]) then redis.call('SET', KEYS[2], ARGV[2]) end
local taken = 0
for _, entry in ipairs(redis.call('XRANGE', KEYS[4], '-', '+')) do
  local fields = {}
  for i = 1, #entry[2], 2 do fields[entry[2][i]] = entry[2][i + 1] end
  local step = tonumber(fields['step'] or '')
  if fields['purpose'] == 'eval' or (step and step > tonumber(ARGV[3])) then
    if fields['group'] then redis.call('SREM', KEYS[3], fields['group']) end
    redis.call('XACK', KEYS[4], 'workers', entry[1])
    redis.call('XDEL', KEYS[4], entry[1])
    taken = taken + 1
  end
end
return taken
