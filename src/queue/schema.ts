import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { ChainableCommander, Redis } from 'ioredis'
import type { Logger } from '../log.ts'
import { readReports } from './instances.ts'
import type { Keys } from './keys.ts'
import { LANES_BY_NAME } from './lanes-by-name.ts'
import { LAYOUT } from './layout.ts'
import { readOrCreate } from './read-or-create.ts'
import { evaluate } from './script.ts'

/** One step from a layout of the keys to the next. It may be run again after a crash, so it does no harm when repeated. */
export interface Migration {
  from: number
  to: number
  migrate(redis: Redis, keys: Keys, write: Write): Promise<void>
}

/** A transaction that is refused once another process has taken the migration over. */
export type Write = (fill: (multi: ChainableCommander) => void) => Promise<void>

/** How older layouts become this one. */
const MIGRATIONS: readonly Migration[] = [LANES_BY_NAME]

export interface SchemaParts {
  redis: Redis
  keys: Keys
  log: Logger
  /** For tests: other than this version's. */
  layout?: number
  migrations?: readonly Migration[]
  patienceMs?: number
}

const PATIENCE_MS = 30_000
const POLL_MS = 250
const LOCK_MS = 15_000

/**
 * Brings the keys to this version's layout; gives why it does not. While a step is under way the layout reads `1>2`, which
 * no process takes for its own: whoever still runs stops writing at that moment. Its lanes' slots are taken from it, so that it
 * acknowledges nothing either.
 */
export async function prepareSchema(parts: SchemaParts): Promise<string | undefined> {
  const { redis, keys, layout = LAYOUT, migrations = MIGRATIONS } = parts
  const stored = await readOrCreate(redis, keys.schema, String(layout))
  if (stored === String(layout)) return undefined
  return stepsFrom(stored, layout, migrations) ? migrate(parts) : foreignLayout(stored, layout)
}

/** Why keys of another layout cannot be used; undefined for our own, and when nothing is stored. */
export function foreignLayout(stored: string | null, layout = LAYOUT): string | undefined {
  if (stored === null || stored === String(layout)) return undefined
  const what = `the keys in Redis have layout ${stored}, this version of kubeherald knows layout ${layout}`
  if (newestOf(stored) < layout)
    return `${what}: start "run" of this version, or of one in between, to convert them`
  return `${what}: run the newer version that wrote them`
}

function newestOf(stored: string): number {
  return Math.max(...stored.split('>').map(Number))
}

/** `1>2` is a step that somebody began: it is begun again. */
function stepsFrom(
  stored: string,
  layout: number,
  migrations: readonly Migration[],
): readonly Migration[] | undefined {
  if (!/^\d+(>\d+)?$/.test(stored) || newestOf(stored) > layout) return undefined
  const steps: Migration[] = []
  for (let at = Number(stored.split('>')[0]); at !== layout; ) {
    const step = migrations.find(({ from, to }) => from === at && to > from && to <= layout)
    if (!step) return undefined
    steps.push(step)
    at = step.to
  }
  return steps
}

async function migrate(parts: SchemaParts): Promise<string | undefined> {
  const { redis, keys, log, layout = LAYOUT, migrations = MIGRATIONS } = parts
  const token = randomBytes(8).toString('hex')
  const held = await waitForTurn(parts, token)
  if (held === 'done') return undefined
  if (held !== 'mine') return held
  const renewal = setInterval(() => {
    evaluate(redis, RENEW, [keys.schemaLock], [token, LOCK_MS]).catch(() => {})
  }, LOCK_MS / 3)
  try {
    // Another one, of another version perhaps, may have converted them between our last look and our turn.
    const stored = await readOrCreate(redis, keys.schema, String(layout))
    const steps = stepsFrom(stored, layout, migrations)
    if (!steps) return foreignLayout(stored, layout)
    for (const { from, to, migrate } of steps) {
      log.info({ from, to }, 'converting the keys in Redis')
      await mark(parts, token, `${from}>${to}`)
      await migrate(redis, keys, (fill) => writeFenced(parts, token, fill))
      await mark(parts, token, String(to))
    }
    log.info({ layout }, 'the keys in Redis are converted')
    return undefined
  } finally {
    clearInterval(renewal)
    await evaluate(redis, RELEASE, [keys.schemaLock], [token]).catch(() => {})
  }
}

/** Until no process of an older version runs and nobody else converts; `done` when somebody else did it. */
async function waitForTurn(parts: SchemaParts, token: string): Promise<'mine' | 'done' | string> {
  const { redis, keys, log, layout = LAYOUT, patienceMs = PATIENCE_MS } = parts
  const untilMs = performance.now() + patienceMs
  for (let told = ''; ; await pause(POLL_MS)) {
    if ((await redis.get(keys.schema)) === String(layout)) return 'done'
    const reports = await readReports(redis, keys)
    const older = reports.filter((it) => (it.layout ?? 1) < layout)
    const names = older.map(({ host, pid, version }) => `${version} on ${host} (pid ${pid})`).join(', ')
    if (older.length === 0 && (await redis.set(keys.schemaLock, token, 'PX', LOCK_MS, 'NX'))) return 'mine'
    const reason =
      names === '' ? 'another process converts the keys in Redis' : `an older version runs: ${names}`
    if (performance.now() > untilMs)
      return `the keys in Redis are to be converted, but ${reason}; stop it first`
    if (reason !== told) log.warn({ reason }, 'waiting to convert the keys in Redis')
    told = reason
  }
}

async function mark({ redis, keys }: SchemaParts, token: string, schema: string): Promise<void> {
  const done = await evaluate(redis, MARK, [keys.schemaLock, keys.schema, keys.slots], [token, schema])
  if (done !== 1) throw new TakenOverError()
}

async function writeFenced(
  { redis, keys }: SchemaParts,
  token: string,
  fill: (multi: ChainableCommander) => void,
): Promise<void> {
  await redis.watch(keys.schemaLock)
  if ((await redis.get(keys.schemaLock)) !== token) {
    await redis.unwatch()
    throw new TakenOverError()
  }
  const multi = redis.multi()
  fill(multi)
  const replies = await multi.exec()
  if (replies === null) throw new TakenOverError()
  for (const [error] of replies) if (error) throw error
}

class TakenOverError extends Error {
  override name = 'TakenOverError'

  constructor() {
    super('another process took over converting the keys in Redis')
  }
}

const RENEW = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end`
const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`
const MARK = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[2])
if string.find(ARGV[2], '>', 1, true) then redis.call('DEL', KEYS[3]) end
return 1
`
