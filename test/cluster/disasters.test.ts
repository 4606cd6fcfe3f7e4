import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { keysOf } from '../../src/store/keys.ts'
import { commandsIn } from '../docs/shell.ts'
import { waitFor } from '../wait-for.ts'
import { type Bed, startBed } from './bed.ts'
import { differences } from './compare.ts'
import { CONFIG_MAPS, churn, manifest } from './workload.ts'

/** The procedures of deploy/README.md, "Disaster recovery", with the commands that stand there. */

const COMMANDS = commandsIn('deploy/README.md').map(({ text }) => text)

/** Types commands of the page as somebody at the Redis of this test would. */
function type(bed: Bed, pattern: RegExp): void {
  const commands = COMMANDS.filter((it) => pattern.test(it))
  expect(commands).not.toEqual([])
  for (const command of commands) {
    const here = command.replaceAll('/data', bed.redis.dir).replace('-h redis', `-p ${bed.redis.port}`)
    const { status, stderr } = spawnSync('sh', ['-ec', here], { cwd: bed.redis.dir, encoding: 'utf8' })
    expect({ status, stderr }, here).toMatchObject({ status: 0 })
  }
}

async function isBalanced({ kubeherald }: Bed) {
  const { ledger } = await kubeherald.status()
  return { balanced: ledger.balanced, pending: ledger.sinks.hook.pending, dead: ledger.sinks.hook.dead }
}

const BALANCED = { balanced: true, pending: 0, dead: 0 }

async function allIsSettled(bed: Bed): Promise<void> {
  await waitFor(async () => (await isBalanced(bed)).pending === 0, { what: 'the lanes to be empty' })
  expect(await isBalanced(bed)).toEqual(BALANCED)
}

/** Waits until the watch has noticed that its position is lost, and watches from the current state. */
async function startsOver({ kubeherald, redis }: Bed): Promise<void> {
  await waitFor(() => kubeherald.log().includes('"cause":"position-lost"'), { what: 'the loss in the log' })
  const keys = keysOf('test')
  await waitFor(
    async () => {
      const [source] = (await redis.command('HKEYS', keys.sources)) as string[]
      const position = source && (await redis.command('GET', keys.checkpoint(source)))
      return String(position).includes('"watching"')
    },
    { what: 'a new position' },
  )
  await waitFor(() => kubeherald.ready(), { what: 'readiness' })
}

/** As it stands in the configuration of the bed; kubeherald reads it at its next start. */
function emitAtFirst({ kubeherald: { configFile } }: Bed): void {
  const before = readFileSync(configFile, 'utf8')
  const after = before.replace('namespaces: default', 'namespaces: default, initial: emit')
  expect(after).not.toBe(before)
  writeFileSync(configFile, after)
}

const namesOf = (bed: Bed, from: number) =>
  bed
    .arrivals()
    .slice(from)
    .map(({ type, key }) => `${type} ${key.split('/').at(-1)}`)
    .toSorted()

test('Redis lost its data: with a copy of its snapshot, put back as the page says, nothing is missing', async () => {
  await using bed = await startBed()
  await churn(bed.kubernetes, [CONFIG_MAPS], { count: 20, parallel: 4, prefix: 'before' })
  await bed.allArrived()
  // What waits is in the copy, too.
  bed.hook.answer(() => ({ status: 503 }))
  await churn(bed.kubernetes, [CONFIG_MAPS], { count: 10, parallel: 4, prefix: 'waiting' })
  await waitFor(async () => (await isBalanced(bed)).pending >= 10, { what: 'deliveries to wait' })
  type(bed, /--rdb/)
  bed.hook.answer(() => ({ status: 200 }))
  await churn(bed.kubernetes, [CONFIG_MAPS], { count: 20, parallel: 4, prefix: 'forgotten' })
  await bed.allArrived()

  await bed.redis.command('FLUSHALL')
  // An object that lives while the watch starts over is sent from its middle on, and from its beginning with the copy.
  await bed.kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, 'shows-the-loss', 0))
  await startsOver(bed)
  await churn(bed.kubernetes, [CONFIG_MAPS], { count: 5, parallel: 1, prefix: 'lost' })
  expect(await bed.kubeherald.stop()).toBe(0)
  await churn(bed.kubernetes, [CONFIG_MAPS], { count: 5, parallel: 1, prefix: 'away' })
  type(bed, /appendonly/)
  await bed.redis.stop()
  await bed.redis.restart()
  await bed.kubeherald.start()
  await churn(bed.kubernetes, [CONFIG_MAPS], { count: 20, parallel: 4, prefix: 'after' })

  const history = await bed.allArrived()
  const { repeated, ...rest } = differences(history, bed.arrivals())
  expect(rest).toEqual({ missing: [], unexpected: [], outOfOrder: [] })
  expect(repeated.filter((it) => it.includes('/before'))).toEqual([])
  expect(repeated.some((it) => it.includes('/forgotten'))).toBe(true)
  await allIsSettled(bed)
})

test('Redis lost its data: without a copy, `initial: emit` on an empty one tells everything that exists, once', async () => {
  await using bed = await startBed()
  const { kubernetes, kubeherald } = bed
  for (const name of ['goes', 'one', 'two'])
    await kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, name, 0))
  await bed.allArrived()
  await bed.redis.command('FLUSHALL')
  await kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, 'shows-the-loss', 0))
  await startsOver(bed)
  expect(await kubeherald.stop()).toBe(0)
  await kubernetes.request('DELETE', `${CONFIG_MAPS}/goes`)
  await kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, 'three', 0))

  emitAtFirst(bed)
  type(bed, /flushdb/)
  const before = bed.arrivals().length
  await kubeherald.start()
  await kubernetes.request('PATCH', `${CONFIG_MAPS}/one`, manifest(CONFIG_MAPS, 'one', 1))
  await waitFor(() => namesOf(bed, before).includes('MODIFIED one'), { what: 'the newest change' })
  expect(namesOf(bed, before).filter((it) => !it.endsWith('kube-root-ca.crt'))).toEqual([
    'ADDED one',
    'ADDED shows-the-loss',
    'ADDED three',
    'ADDED two',
    'MODIFIED one',
  ])
  await allIsSettled(bed)
})

test('one checkpoint is lost: its watch says so, starts from the current state, and the ledger still balances', async () => {
  await using bed = await startBed()
  const { kubernetes, kubeherald, redis } = bed
  await churn(kubernetes, [CONFIG_MAPS], { count: 5, parallel: 1, prefix: 'before' })
  await bed.allArrived()
  const [source] = (await redis.command('HKEYS', keysOf('test').sources)) as string[]
  const position = keysOf('test').checkpoint(source as string)
  await redis.command('DEL', position)
  await kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, 'shows-the-loss', 0))
  await waitFor(() => kubeherald.log().includes('"cause":"position-lost"'), { what: 'the loss in the log' })
  await waitFor(async () => String(await redis.command('GET', position)).includes('"watching"'), {
    what: 'a new position',
  })
  const before = bed.arrivals().length
  await kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, 'later', 0))
  await waitFor(() => namesOf(bed, before).includes('ADDED later'), { what: 'what happens from then on' })
  expect(namesOf(bed, before)).toEqual(['ADDED later'])
  await allIsSettled(bed)
})
