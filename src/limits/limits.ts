import type { Limits } from '../limit.ts'
import type { RuleLimits } from './schema.ts'

export type LimitedRule = RuleLimits & { name: string; to?: readonly string[] | undefined }

/** The limits of a configuration's rules. */
export function createLimits(_rules: readonly LimitedRule[]): Limits {
  return {
    keysOf: () => ({ shared: [], own: [] }),
    apply: (events) => ({
      deliveries: [],
      told: events.map(() => false),
      rules: new Map(),
      writes: { shared: new Map(), own: new Map() },
    }),
    expire: () => ({
      deliveries: [],
      told: [],
      rules: new Map(),
      writes: { shared: new Map(), own: new Map() },
    }),
  }
}

/** Has a rule limits, and do they follow the state of objects? */
export function limitsOf(_rule: LimitedRule): 'events' | 'states' | undefined {
  return undefined
}
