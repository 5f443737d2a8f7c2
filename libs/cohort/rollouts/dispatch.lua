-- Put one prompt on the stream, once, unless the learner is fenced or the step is already committed.
-- KEYS fence, committed, dispatched, prompts   ARGV fence, group, step, purpose, then the entry's fields
local current = tonumber(redis.call('GET', KEYS[1]) or '')
if not current or current < tonumber(ARGV[1]) then return 'lost' end
if current > tonumber(ARGV[1]) then return 'fenced' end
local committed = tonumber(redis.call('GET', KEYS[2]) or '')
if ARGV[4] == 'train' and committed and tonumber(ARGV[3]) <= committed then return 'dup' end
if redis.call('EXISTS', KEYS[4]) == 0 then return 'lost' end
if redis.call('SADD', KEYS[3], ARGV[2]) == 0 then return 'dup' end
redis.call('XADD', KEYS[4], '*', unpack(ARGV, 5))
return 'ok'
