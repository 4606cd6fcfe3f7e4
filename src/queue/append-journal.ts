/** Lua: appends to the journal, and trims it. A commit must not fail for the journal, whatever another program wrote there. */
export const APPEND_JOURNAL = `
local function appendJournal(journal, counter, max, since, keep, each, most, ...)
  max, since, each, most = tonumber(max), tonumber(since), tonumber(each), tonumber(most)
  local length = redis.pcall('XLEN', journal)
  if type(length) == 'table' then return -1 end
  local stored = redis.pcall('GET', counter)
  local bytes = type(stored) == 'string' and tonumber(stored) or 0
  if redis.call('EXISTS', journal) == 0 then bytes = 0 end
  local entries = { ... }
  for _, entry in ipairs(entries) do
    redis.call('XADD', journal, '*', 'z', entry)
    bytes = bytes + #entry + each
  end
  for _ = 1, most + #entries do
    local first = redis.call('XRANGE', journal, '-', '+', 'COUNT', 1)[1]
    if not first then break end
    local ms = tonumber(string.match(first[1], '^(%d+)'))
    if bytes <= max and ms >= since then break end
    redis.call('XDEL', journal, first[1])
    bytes = bytes - #first[2][2] - each
  end
  redis.call('SET', counter, string.format('%d', bytes), 'PX', keep)
  redis.call('PEXPIRE', journal, keep)
  return bytes
end
`
