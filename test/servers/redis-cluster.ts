import { hashSlot } from '../../src/store/redis/locate-master.ts'
import { waitFor } from '../wait-for.ts'
import { freePort } from './ports.ts'
import { type RedisServer, startRedis } from './redis.ts'

export interface RedisCluster extends AsyncDisposable {
  readonly nodes: readonly RedisServer[]
  /** host:port of all nodes. */
  readonly addresses: readonly string[]
  readonly tlsAddresses: readonly string[]
  /** The node that has the key's slot now. */
  masterOf(key: string): Promise<RedisServer>
  /** The nodes that copy this one. */
  replicasOf(node: RedisServer): Promise<RedisServer[]>
  /** Another master than this one. */
  otherMaster(than: RedisServer): Promise<RedisServer>
  /** Marks the key's slot as on its way; nothing is moved yet. */
  beginMove(key: string, to: RedisServer): Promise<void>
  /** Moves up to so many keys of the slot; gives how many are left. */
  moveSome(key: string, to: RedisServer, count: number): Promise<number>
  endMove(key: string, to: RedisServer): Promise<void>
}

const SLOTS = 16_384

/** A real Redis Cluster on loopback: three masters, each with a replica if asked for. */
export async function startRedisCluster(
  options: { replicas?: boolean; args?: readonly string[]; tls?: readonly string[] } = {},
): Promise<RedisCluster> {
  await using stack = new AsyncDisposableStack()
  const count = options.replicas ? 6 : 3
  const starts = Array.from({ length: count }, async () => {
    const busPort = await freePort()
    const cluster = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1000']
    const args = [
      ...cluster,
      '--cluster-port',
      String(busPort),
      '--repl-diskless-sync-delay',
      '0',
      ...(options.args ?? []),
    ]
    const tlsPort = options.tls && (await freePort())
    if (options.tls) args.push('--tls-cluster', 'yes', '--tls-port', String(tlsPort), ...options.tls)
    return { server: stack.use(await startRedis({ args })), busPort, tlsPort }
  })
  const started = await Promise.all(starts)
  const nodes = started.map(({ server }) => server)
  const first = nodes[0] as RedisServer
  const ids = new Map<RedisServer, string>()
  for (const node of nodes) ids.set(node, String(await node.command('CLUSTER', 'MYID')))
  const idOf = (node: RedisServer) => ids.get(node) as string
  for (const [i, node] of nodes.slice(0, 3).entries()) {
    const [from, to] = [Math.floor((SLOTS * i) / 3), Math.floor((SLOTS * (i + 1)) / 3) - 1]
    await node.command('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to))
    await node.command('CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1))
  }
  for (const { server, busPort, tlsPort } of started.slice(1))
    await first.command('CLUSTER', 'MEET', '127.0.0.1', String(tlsPort ?? server.port), String(busPort))
  const knows = async (node: RedisServer) =>
    String(await node.command('CLUSTER', 'NODES'))
      .trim()
      .split('\n')
      .filter((line) => !/handshake|fail/.test(line)).length === count
  await waitFor(async () => (await Promise.all(nodes.map(knows))).every(Boolean), {
    timeoutMs: 60_000,
    what: 'the nodes to meet',
  })
  for (const [i, replica] of nodes.slice(3).entries())
    await replica.command('CLUSTER', 'REPLICATE', idOf(nodes[i] as RedisServer))
  const isWell = async (node: RedisServer) =>
    String(await node.command('CLUSTER', 'INFO')).includes('cluster_state:ok') &&
    !String(await node.command('INFO', 'replication')).includes('master_link_status:down')
  await waitFor(async () => (await Promise.all(nodes.map(isWell))).every(Boolean), {
    timeoutMs: 60_000,
    what: 'the cluster to be well',
  })

  type Row = { id: string; flags: string; master: string; slots: string[] }
  async function table(): Promise<Row[]> {
    for (const node of nodes) {
      const text = await node.command('CLUSTER', 'NODES').catch(() => undefined)
      if (text === undefined) continue
      return String(text)
        .trim()
        .split('\n')
        .map((line) => {
          const [id = '', , flags = '', master = '', , , , , ...slots] = line.split(' ')
          return { id, flags, master, slots }
        })
    }
    throw new Error('no node answers')
  }
  const nodeOf = (id: string) => nodes.find((node) => idOf(node) === id) as RedisServer
  const has = (slot: number) => (range: string) => {
    const [from, to = from] = range.split('-').map(Number)
    return slot >= (from as number) && slot <= (to as number)
  }
  async function masterOf(key: string): Promise<RedisServer> {
    const slot = hashSlot(key)
    const row = (await table()).find(
      ({ flags, slots }) => flags.includes('master') && !flags.includes('fail') && slots.some(has(slot)),
    )
    if (!row) throw new Error(`nobody has slot ${slot}`)
    return nodeOf(row.id)
  }
  const set = (node: RedisServer, key: string, ...words: string[]) =>
    node.command('CLUSTER', 'SETSLOT', String(hashSlot(key)), ...words)
  const moved = stack.move()
  return {
    nodes,
    addresses: nodes.map(({ port }) => `127.0.0.1:${port}`),
    tlsAddresses: started.map(({ tlsPort }) => `127.0.0.1:${tlsPort}`),
    masterOf,
    async replicasOf(node) {
      return (await table()).filter(({ master }) => master === idOf(node)).map(({ id }) => nodeOf(id))
    },
    async otherMaster(than) {
      const row = (await table()).find(({ id, flags }) => flags.includes('master') && id !== idOf(than))
      return nodeOf((row as Row).id)
    },
    async beginMove(key, to) {
      const from = await masterOf(key)
      await set(to, key, 'IMPORTING', idOf(from))
      await set(from, key, 'MIGRATING', idOf(to))
    },
    async moveSome(key, to, count) {
      const from = await masterOf(key)
      const slot = String(hashSlot(key))
      const found = (await from.command('CLUSTER', 'GETKEYSINSLOT', slot, String(count))) as string[]
      if (found.length > 0)
        await from.command('MIGRATE', '127.0.0.1', String(to.port), '', '0', '5000', 'KEYS', ...found)
      return Number(await from.command('CLUSTER', 'COUNTKEYSINSLOT', slot))
    },
    async endMove(key, to) {
      const from = await masterOf(key)
      for (const node of [to, from]) await set(node, key, 'NODE', idOf(to))
      await waitFor(async () => (await masterOf(key)) === to, {
        timeoutMs: 60_000,
        what: 'the slot to be known elsewhere',
      })
    },
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  }
}
