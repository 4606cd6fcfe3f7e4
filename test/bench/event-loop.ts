import { Redis } from 'ioredis'
import { Agent, request } from 'undici'

// The yardstick of what an Event costs: a bare loop with the same guarantees. For each frame of a feed's watch one pipelined
// read under WATCH, one MULTI/EXEC that writes position, index, delivery and ledger, one POST, one script that acknowledges.
// Arguments: the URLs of the feed, Redis and the webhook, how many Events warm it up, how many are measured. Prints the seconds of
// the processor that these took.
const [feed = '', redisUrl = '', hook = '', warmUpText = '0', countText = '0'] = process.argv.slice(2)
const warmUp = Number(warmUpText)
const last = warmUp + Number(countText)

const ACKNOWLEDGE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('XDEL', KEYS[2], ARGV[2])
redis.call('HINCRBY', KEYS[3], KEYS[2], -1)
redis.call('HINCRBY', KEYS[4], 'delivered', 1)
return 1`

const redis = new Redis(redisUrl)
redis.defineCommand('acknowledge', { numberOfKeys: 4, lua: ACKNOWLEDGE })
const acknowledge = redis as Redis & { acknowledge(...words: string[]): Promise<number> }
await redis.set('owner', 'token')
const dispatcher = new Agent({ connections: 64, pipelining: 1, allowH2: false })
const headers = { 'content-type': 'application/cloudevents+json; charset=utf-8', 'user-agent': 'bench' }

let acknowledged = 0
let startedCpu = process.cpuUsage()
let startedMs = performance.now()
const done = Promise.withResolvers<void>()

async function deliver(lane: string, entry: string, event: WatchedEvent): Promise<void> {
  const { uid, namespace, name, resourceVersion } = event.object.metadata
  const body = JSON.stringify({
    specversion: '1.0',
    id: `bench/${uid}/${resourceVersion}/${event.type}`,
    source: '/clusters/bench',
    subject: `/api/v1/namespaces/${namespace}/events/${name}`,
    data: event,
  })
  const answer = await request(hook, { dispatcher, method: 'POST', headers, body })
  await answer.body.dump()
  if (answer.statusCode !== 200) throw new Error(`the webhook answered ${answer.statusCode}`)
  await acknowledge.acknowledge('owner', lane, 'pending', 'sink', 'token', entry)
  acknowledged++
  if (acknowledged === warmUp) {
    startedCpu = process.cpuUsage()
    startedMs = performance.now()
  }
  if (acknowledged === last) done.resolve()
}

interface WatchedEvent {
  type: string
  object: { metadata: { uid: string; namespace: string; name: string; resourceVersion: string } }
}

async function commit(line: Buffer): Promise<void> {
  const event = JSON.parse(line.toString()) as WatchedEvent
  const { uid, namespace, name, resourceVersion } = event.object.metadata
  const read = await redis.pipeline().watch('checkpoint').get('checkpoint').hmget('index', uid).exec()
  if (!read || read.some(([error]) => error)) throw new Error('the read failed')
  const lane = `lane:${Number(resourceVersion) % 16}`
  const written = await redis
    .multi()
    .set('checkpoint', resourceVersion)
    .hset('index', uid, `${namespace}/${name}\n${resourceVersion}`)
    .xadd(lane, '*', 'n', '1', 'z', line)
    .hincrby('pending', lane, 1)
    .hincrby('sink', 'enqueued', 1)
    .exec()
  if (!written) throw new Error('the transaction was discarded')
  void deliver(lane, String(written[2]?.[1]), event)
}

async function readFeed(): Promise<void> {
  const { body } = await request(`${feed}/api/v1/events?watch=true&resourceVersion=1000000`)
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of body as AsyncIterable<Buffer>) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let start = 0
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10, start)) {
      await commit(rest.subarray(start, end))
      start = end + 1
    }
    rest = rest.subarray(start)
  }
}

await Promise.race([done.promise, readFeed()])
const { user, system } = process.cpuUsage(startedCpu)
console.log(JSON.stringify({ seconds: (performance.now() - startedMs) / 1_000, cpu: (user + system) / 1e6 }))
process.exit(0)
