import { randomBytes } from 'node:crypto'
import { evaluateWith } from '../../src/app/evaluation.ts'
import type { Change } from '../../src/model/change.ts'
import type { Delivery } from '../../src/model/delivery.ts'
import type { ChangeType } from '../../src/model/event.ts'
import { compileRules } from '../../src/rules/compile.ts'
import { createLimits } from '../../src/rules/limits/limits.ts'
import { kindsToStore, storesPrevious } from '../../src/rules/previous-objects.ts'
import type { Rule } from '../../src/rules/schema.ts'
import type { PreviousStorage } from '../../src/store/commit/transact.ts'
import { normalise } from '../../src/watch/decode/normalise.ts'
import { scanObject } from '../../src/watch/decode/scan.ts'
import { objectJsonOf } from '../../src/watch/decode/trim.ts'
import { SOURCE } from './objects.ts'
import { never, startStoreBed } from './store-bed.ts'

const SALT = Buffer.from('salt')

/** Keeps the old objects of every source. */
export const KEEPS: PreviousStorage = {
  stores: () => true,
  jsonOf: (resource, object) => objectJsonOf(resource, object, SALT),
}

export const FORGETS = { ...KEEPS, stores: () => false }

/** An object that came in a watch or list: `parts` is what it has besides its metadata. */
export function came(
  type: ChangeType,
  name: string,
  version: number,
  { metadata: more, ...parts }: { metadata?: object } & Record<string, unknown> = {},
  uid = `uid-of-${name}`,
): Change {
  const metadata = { name, namespace: 'default', uid, resourceVersion: String(version), ...more }
  const object = scanObject(
    Buffer.from(JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata, ...parts })),
  )
  if (!object) throw new Error('a test object that cannot be read')
  return { type, object, observedAtMs: 1_750_000_000_000 }
}

export const image = (image: string) => ({ spec: { containers: [{ name: 'web', image }] } })

/** The write side with the real hops before it; whatever happens goes to one sink, or what `rules` match, which then decide what is kept. */
export async function startOldBed(source = SOURCE, rules?: readonly Rule[]) {
  const room = { isThere: true }
  const keeps: PreviousStorage = {
    ...KEEPS,
    hasRoom: () => room.isThere,
    ...(rules && { stores: storesPrevious(rules.map((it) => kindsToStore(it, false))) }),
  }
  const decide = evaluateWith({
    normalise: (source, transition) => normalise(source, transition, { cluster: 'test', salt: SALT }),
    match: rules
      ? compileRules(rules, {
          onError(_rule, error) {
            throw error
          },
        })
      : () => ({ sends: [{ sink: 'hook', rule: 'all' }], limited: [], dropped: false }),
    limits: createLimits([]),
    onMalformed(_source, _transition, error) {
      throw error
    },
  })
  const bed = await startStoreBed({ decide, previous: keeps })
  const hash = bed.keys.old(source.key)
  return {
    ...bed,
    hash,
    /** For large previous objects. */
    room,
    /** A new process takes the source over. */
    open: (previous = keeps, opened = source) => bed.newStore(previous).open(opened, never),
    /** A session that seeded these objects. */
    async begun(...objects: Change[]) {
      const session = await bed.newStore(keeps).open(source, never)
      await session.beginSeed(never)
      await session.seed(objects, never)
      await session.endList('1', never)
      return session
    },
    told: async () => (await bed.deliveries()).map(lineOf),
    kept: () => bed.reader.hkeys(hash),
    [Symbol.asyncDispose]: () => bed[Symbol.asyncDispose](),
  }
}

/** `MODIFIED a@3: spec.image 1 → 2`. */
function lineOf({ event }: Delivery): string {
  const changes = event.changes?.map((it) => `${it.path} ${it.old} → ${it.new}`).join(', ')
  const head = `${event.type} ${event.name}@${event.resourceVersion}`
  return changes === undefined ? head : `${head}: ${changes || 'nothing'}`
}

/** Text that does not compress. */
export function noise(bytes: number): string {
  return randomBytes(bytes / 2).toString('hex')
}
