-- Restart the lease of entries that the worker still holds; returns those. Another worker's stay its own.
-- KEYS prompts   ARGV worker, entry ids...
local held = {}
if redis.call('EXISTS', KEYS[1]) == 0 then return held end
for i = 2, #ARGV do
  if #redis.call('XPENDING', KEYS[1], 'workers', ARGV[i], ARGV[i], 1, ARGV[1]) > 0 then
    redis.call('XCLAIM', KEYS[1], 'workers', ARGV[1], 0, ARGV[i], 'JUSTID')
    held[#held + 1] = ARGV[i]
  end
end
return held
