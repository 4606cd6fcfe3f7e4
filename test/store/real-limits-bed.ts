import type { Evaluate, Evaluator, Source } from '../../src/model/change.ts'
import type { Silence, Silences } from '../../src/model/control.ts'
import type { HistoryRecord } from '../../src/model/history-record.ts'
import type { Limited } from '../../src/model/limit.ts'
import { createLimits } from '../../src/rules/limits/limits.ts'
import type { LimitedRule } from '../../src/rules/limits/rule-plan.ts'
import { createSilences } from '../../src/rules/silences/silences.ts'
import { packHistory } from '../../src/store/history/history-format.ts'
import { readLedger } from '../../src/store/ledger.ts'
import { fireTimers } from '../../src/store/limits/limit-timers.ts'
import { type Happening, limitedOf, START_MS } from '../rules/limits/bed.ts'
import { change, SOURCE } from './objects.ts'
import { never, startStoreBed } from './store-bed.ts'

/** Real limits on a real Redis, at a time that the test sets. */
export async function startRealLimits(rules: readonly LimitedRule[]) {
  const history = {
    entryOf: (groups: readonly (readonly HistoryRecord[])[]) => ({
      payload: packHistory(groups),
      oldestId: '0',
    }),
  }
  let limits = createLimits(rules)
  let silences: Silences | undefined
  const clock = { ms: START_MS, now: () => clock.ms }
  const happening = new Map<string, Limited>()
  let version = 1

  const evaluate: Evaluate = ({ key }, transitions) => {
    const limited = transitions.length > 0 ? happening.get(key) : undefined
    return {
      ...{ deliveries: [], dropped: 0, matched: 0, unmatched: 0 },
      ...(limited && {
        limits: {
          keys: limits.keysOf([limited]),
          apply: (states, nowMs) => limits.apply([limited], states, nowMs, silences),
          counted: [false],
          places: new Map(),
        },
      }),
    }
  }
  const routing = (): Evaluator => ({
    evaluate,
    expire: (due, states, nowMs) => limits.expire(due, states, nowMs, silences),
    laneOf: () => 'hook/0',
  })
  const it = await startStoreBed({ routing, clock, history })

  /** A process of its own that watches a source, from an empty index on. */
  async function watch(source: Source = SOURCE) {
    const session = await it.newStore().open(source, never)
    await session.beginSeed(never)
    await session.endList('1', never)
    return {
      session,
      /** Commits an event that a rule matches. */
      async happen(what: Happening): Promise<void> {
        happening.set(source.key, limitedOf({ sinks: ['hook'], ...what }))
        const changes = [change('ADDED', `a-${++version}`, version)]
        await session.commit(changes, String(version), never)
      },
    }
  }

  return {
    ...it,
    clock,
    silence: (some: readonly Silence[]) => {
      silences = createSilences(some)
    },
    /** Another configuration, over the same states. */
    reload: (others: readonly LimitedRule[]) => {
      limits = createLimits(others)
    },
    watch,
    /** Decides what is due in shared states, now or at some other time, while nobody has read some sources. */
    fire(nowMs?: number, isUnread: (source: string) => boolean = () => false): Promise<boolean> {
      const { commitConnection, metrics } = it.newStore()
      const stages = { evaluator: routing, enqueued() {} }
      const asOf = { now: () => nowMs ?? clock.ms }
      const parts = {
        history,
        commitConnection,
        keys: it.keys,
        instance: 'one',
        stages,
        clock: asOf,
        metrics,
        isUnread,
      }
      return fireTimers(parts, `one/${++version}`, never)
    },
    ledger: () => readLedger(it.reader, it.keys, { verify: true }),
  }
}
