/**
 * Lua: whether a key cannot be used as this kind. It asks by commands that fail
 * for other types, since TYPE may be forbidden to our user.
 */
export const IS_FOREIGN = `
local READS = { stream = 'XLEN', hash = 'HLEN', zset = 'ZCARD', counters = 'HMGET', counter = 'GET' }
local function isNumber(value)
  return not value or value == '0' or (#value <= 18 and string.find(value, '^%-?[1-9]%d*$') ~= nil)
end
local function isForeign(key, kind, ...)
  local reply = redis.pcall(READS[kind], key, ...)
  if type(reply) == 'table' and reply.err then return string.find(reply.err, 'WRONGTYPE', 1, true) ~= nil end
  if kind == 'counter' then return not isNumber(reply) end
  if kind ~= 'counters' then return false end
  for _, value in ipairs(reply) do if not isNumber(value) then return true end end
  return false
end
`
