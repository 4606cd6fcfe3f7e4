import type { Redis } from 'ioredis'
import type { HistoryRecord } from '../../src/model/history-record.ts'
import { readHistory } from '../../src/store/history/read-history.ts'
import { keysOf } from '../../src/store/keys.ts'
import type { ReceivedRequest } from '../servers/receiver.ts'

/** More than a run makes: nothing is trimmed. */
export const HISTORY = 'history: { keep: 1d, maxBytes: 300MB }'

const keys = keysOf('test')
const BASELINE = 'crash-test-baseline'

/**
 * A full Redis loses its history: from here on it is complete again. What the ledgers count until now is kept in Redis, which may go back to an
 * older state of both together.
 */
export async function beginHistory(redis: Redis, sinks: readonly string[]): Promise<void> {
  const ledgers = sinks.map((sink) => keys.sinkLedger(sink))
  await redis.eval(BEGIN, 3 + ledgers.length, BASELINE, keys.history, keys.suppressed, ...ledgers, ...sinks)
}

const BEGIN = `
for i, sink in ipairs(ARGV) do
  local counts = redis.call('HMGET', KEYS[3 + i], 'delivered', 'dead')
  redis.call('HSET', KEYS[1], sink .. ' delivered', counts[1] or 0, sink .. ' dead', counts[2] or 0)
end
redis.call('UNLINK', KEYS[2], KEYS[3])
`

type SinkLedger = { delivered: number; dead: number }

/** Compares the history with the ledgers of the sinks, and with what each sink took: each final outcome once. */
export async function faultsOfHistory(
  redis: Redis,
  ledgers: Record<string, SinkLedger>,
  requests: readonly ReceivedRequest[],
): Promise<{ faults: string[]; summary: string }> {
  const faults: string[] = []
  const before = await redis.hgetall(BASELINE)
  const records = await Array.fromAsync(readHistory(redis, keys))
  const bySink = Map.groupBy(records, ({ sinks }) => sinks.join(','))
  const wholly = Object.keys(before).length === 0
  for (const [sink, ledger] of Object.entries(ledgers)) {
    const own = bySink.get(sink) ?? []
    const of = (outcome: HistoryRecord['outcome']) => own.filter((it) => it.outcome === outcome)
    for (const outcome of ['delivered', 'dead'] as const) {
      const expected = ledger[outcome] - Number(before[`${sink} ${outcome}`] ?? 0)
      if (of(outcome).length !== expected)
        faults.push(`history of ${sink}: ${of(outcome).length} ${outcome}, the ledger counts ${expected}`)
    }
    const final = [...of('delivered'), ...of('dead')].map(({ event }) => event.id)
    const ids = new Set(final)
    if (ids.size !== final.length) faults.push(`history of ${sink}: ${final.length - ids.size} twice`)
    const path = sink === 'hook' ? '/hook' : `/hook/${sink}`
    const took = new Set(
      requests.filter((it) => it.status === 200 && it.path === path).map(({ body }) => JSON.parse(body).id),
    )
    const unseen = of('delivered').filter(({ event }) => !took.has(event.id))
    if (unseen.length > 0)
      faults.push(`history of ${sink}: ${unseen.length} delivered and not received: ${unseen[0]?.event.id}`)
    const unrecorded = wholly ? [...took].filter((id) => !ids.has(id)) : []
    if (unrecorded.length > 0)
      faults.push(`history of ${sink}: ${unrecorded.length} received and not recorded: ${unrecorded[0]}`)
  }
  const since = wholly ? 'the beginning' : 'Redis was full for the last time'
  return { faults, summary: `history: ${records.length} records since ${since}` }
}
