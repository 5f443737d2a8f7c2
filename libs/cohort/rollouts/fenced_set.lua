-- Set a key if no newer learner has started.   KEYS fence, key   ARGV fence, value, ttl in ms or 0
local current = tonumber(redis.call('GET', KEYS[1]) or '')
if not current or current < tonumber(ARGV[1]) then return 'lost' end
if current > tonumber(ARGV[1]) then return 'fenced' end
redis.call('SET', KEYS[2], ARGV[2])
if tonumber(ARGV[3]) > 0 then redis.call('PEXPIRE', KEYS[2], ARGV[3]) end
return 'ok'
