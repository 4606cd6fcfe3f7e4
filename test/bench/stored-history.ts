import { Redis } from 'ioredis'
import type { HistoryRecord } from '../../src/model/history-record.ts'
import { packHistory } from '../../src/store/history/history-format.ts'
import { keysOf } from '../../src/store/keys.ts'

/** The records of one acknowledgement: lanes acknowledge what ends within 50 ms together. */
const IN_ONE_ENTRY = 10
const EVERY_MS = 1_000

/**
 * Writes a history as a process would have over hours: deliveries of many objects, and evenly among them those of `shop/web`, each with one attempt.
 * The newest is of now.
 */
export async function storeHistory(url: string, counts: { own: number; others: number }): Promise<void> {
  const redis = new Redis(url)
  const total = counts.own + counts.others
  const endMs = Date.now()
  for (let from = 0; from < total; ) {
    const batch = redis.pipeline()
    for (const end = Math.min(total, from + 100 * IN_ONE_ENTRY); from < end; from += IN_ONE_ENTRY) {
      const atMs = endMs - ((total - from) / IN_ONE_ENTRY) * EVERY_MS
      const records = Array.from({ length: IN_ONE_ENTRY }, (_, k) => recordAt(from + k, atMs + k, counts))
      batch.xadd(keysOf('bench').history, `${atMs}-0`, 'z', packHistory([records]))
    }
    await batch.exec()
  }
  redis.disconnect()
}

function recordAt(i: number, atMs: number, { own, others }: { own: number; others: number }): HistoryRecord {
  const total = own + others
  const isOwn = Math.floor(((i + 1) * own) / total) > Math.floor((i * own) / total)
  const [name, namespace] = isOwn ? ['web', 'shop'] : [`service-${i % 2_000}`, `team-${i % 40}`]
  const uid = `00000000-0000-4000-8000-${(isOwn ? 0 : 1 + (i % 2_000)).toString(16).padStart(12, '0')}`
  return {
    ...{ outcome: 'delivered', atMs, rule: 'rollouts', sinks: ['out'] },
    event: {
      ...{ id: `bench/${uid}/${i}/MODIFIED`, type: 'MODIFIED', apiVersion: 'apps/v1' },
      ...{ kind: 'Deployment', namespace, name },
    },
    attempts: [{ atMs: atMs - 30, tookMs: 12 + (i % 20) }],
    title: `Deployment ${namespace}/${name} rolled out: image 1.${i % 100}.0 → 1.${(i % 100) + 1}.0`,
  }
}
