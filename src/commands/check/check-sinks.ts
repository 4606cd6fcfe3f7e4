import type { Config } from '../../config/schema.ts'
import { silentLog } from '../../log.ts'
import { inPlainWords } from '../../plain-words.ts'
import { printable } from '../../printable.ts'
import type { Health, SinkType } from '../../sink/index.ts'
import { memoryStore } from '../../sink/memory-store.ts'
import { askHealth } from '../../sink-set/health.ts'
import { userAgent } from '../../version.ts'

/** Asks every sink whether deliveries could succeed; nothing is delivered. Gives what is not well. */
export async function checkSinks(
  { sinks }: Pick<Config, 'sinks'>,
  typeOf: (type: string) => Promise<SinkType>,
  cluster: string,
): Promise<string[]> {
  const answers = await Promise.all(
    sinks.map(async ({ name, type, options }) => ({ name, type, health: await ask(name, type, options) })),
  )

  async function ask(name: string, type: string, options: unknown): Promise<Health> {
    try {
      const sink = await (await typeOf(type)).open(options, {
        name,
        cluster,
        log: silentLog,
        metrics: { counter: () => () => {}, gauge: () => () => {} },
        // A check keeps nothing: what is stored is gone with it.
        store: memoryStore(),
        userAgent,
        clock: Date,
      })
      try {
        return await askHealth(sink, new AbortController().signal)
      } finally {
        await sink.close().catch(() => {})
      }
    } catch (error) {
      return { ok: false, reason: 'config', detail: (error as Error).message }
    }
  }

  return answers.flatMap(({ name, type, health }) => {
    if (!health.ok) return [`sink ${name} (${type}): ${printable(inPlainWords(health.detail))}`]
    return (health.warnings ?? []).map((it) => `sink ${name} (${type}): ${printable(it)}`)
  })
}
