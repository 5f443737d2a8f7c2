-- The next epoch: above Redis' own and above what the learner knows.   KEYS fence   ARGV known
local current = tonumber(redis.call('GET', KEYS[1]) or '0')
local fence = math.max(current, tonumber(ARGV[1])) + 1
redis.call('SET', KEYS[1], string.format('%d', fence))
return fence
