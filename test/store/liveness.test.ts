import { test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { keysOf } from '../../src/store/keys.ts'
import { openRedis, watchLiveness } from '../../src/store/redis/connection.ts'
import { startRedis } from '../servers/redis.ts'
import { startTcpProxy } from '../servers/tcp-proxy.ts'
import { waitFor } from '../wait-for.ts'

test('a Redis is silent from the first question that it did not answer until it answers again, however it is out of reach', async () => {
  await using server = await startRedis()
  await using proxy = await startTcpProxy(server.port)
  const redis = openRedis(`redis://127.0.0.1:${proxy.port}`, 'commit', silentLog)
  const contact = watchLiveness(redis, keysOf('test'), 20)
  const answers = () =>
    waitFor(() => redis.status === 'ready' && contact.silentMs() === 0, { what: 'answers' })
  await answers()
  proxy.freeze()
  await waitFor(() => contact.silentMs() > 100, { what: 'silence' })
  proxy.retarget(1)
  proxy.cut()
  const silentMs = contact.silentMs()
  await waitFor(() => contact.silentMs() > silentMs + 100, { what: 'more of it' })
  proxy.retarget(server.port)
  await answers()
  contact.close()
  redis.disconnect()
})
