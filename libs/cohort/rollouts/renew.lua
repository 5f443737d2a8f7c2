-- Set the idle time of entries that the worker still holds, and return those: 0 renews a lease, more
-- than a lease lasts ends it. Another worker's entries stay its own.
-- KEYS prompts   ARGV worker, idle time in ms, entry ids...
local held = {}
if redis.call('EXISTS', KEYS[1]) == 0 then return held end
for i = 3, #ARGV do
  if #redis.call('XPENDING', KEYS[1], 'workers', ARGV[i], ARGV[i], 1, ARGV[1]) > 0 then
    redis.call('XCLAIM', KEYS[1], 'workers', ARGV[1], 0, ARGV[i], 'IDLE', ARGV[2], 'JUSTID')
    held[#held + 1] = ARGV[i]
  end
end
return held
