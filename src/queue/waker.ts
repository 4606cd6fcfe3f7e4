import type { Queue } from 'bullmq'
import type { Logger } from '../log.ts'

/** Adds wake-ups in batches: what is asked for while one is on its way goes with the next. */
export function createWaker(queue: Queue, { log }: { log: Logger }) {
  const asked = new Set<string>()
  let running: Promise<void> | undefined

  async function flush(): Promise<void> {
    while (asked.size > 0) {
      const lanes = [...asked]
      asked.clear()
      await queue
        .addBulk(lanes.map((lane) => ({ name: 'lane', data: { lane }, opts: jobOptions(lane) })))
        .catch((error) => {
          log.debug({ error }, 'wake-up failed; the sweeper will repeat it')
        })
    }
  }

  return {
    wake(lanes: readonly string[]): void {
      for (const lane of lanes) asked.add(lane)
      running ??= flush().finally(() => {
        running = undefined
      })
    },
    idle: async () => void (await running),
  }
}

function jobOptions(lane: string) {
  return {
    deduplication: { id: lane, keepLastIfActive: true },
    attempts: Number.MAX_SAFE_INTEGER,
    backoff: { type: 'custom' },
    removeOnComplete: true,
    removeOnFail: true,
  }
}
