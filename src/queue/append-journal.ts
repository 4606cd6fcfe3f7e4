/** Lua: appends to the journal, and trims it. A commit must not fail for the journal, whatever another program wrote there. */
export const APPEND_JOURNAL = `
local function appendJournal(journal, counter, max, since, keep, each, most, ...)
  max, since, each, most = tonumber(max), tonumber(since), tonumber(each), tonumber(most)
  local length = redis.pcall('XLEN', journal)
  if type(length) == 'table' then return -1 end
  local stored = redis.pcall('GET', counter)
  local bytes = type(stored) == 'string' and tonumber(stored) or 0
  if length == 0 then bytes = 0 end
  local entries = { ... }
  for _, entry in ipairs(entries) do
    if type(redis.pcall('XADD', journal, '*', 'z', entry)) == 'table' then break end
    bytes = bytes + #entry + each
  end
  for _ = 1, most + #entries do
    local first = redis.pcall('XRANGE', journal, '-', '+', 'COUNT', 1)[1]
    if type(first) ~= 'table' then break end
    local ms = tonumber(string.match(first[1], '^(%d+)'))
    if bytes <= max and ms >= since then break end
    if type(redis.pcall('XDEL', journal, first[1])) == 'table' then break end
    bytes = bytes - #first[2][2] - each
  end
  redis.pcall('SET', counter, string.format('%d', bytes), 'PX', keep)
  redis.pcall('PEXPIRE', journal, keep)
  return bytes
end
`
