import type { Config } from './config/schema.ts'
import type { Enrichment } from './enrichment.ts'
import { forgetSeries } from './forget-series.ts'
import { createGeneration, type GenerationParts } from './generation.ts'
import type { Generations } from './generations.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { Lanes } from './queue/lanes.ts'
import { type Differences, differences } from './reload/differences.ts'
import { startAtZero } from './server/samples.ts'
import type { SinkHealth } from './sink-set/health.ts'
import { prefixOf } from './sink-set/metrics.ts'
import type { SinkSet } from './sink-set/set.ts'
import type { WatchManager } from './watch/manager.ts'

export interface ApplyParts {
  generations: Generations
  generation: GenerationParts
  sinkSet: SinkSet
  /** False for a process that delivers nothing. */
  delivers: boolean
  lanes: Pick<Lanes, 'use' | 'tryNow'>
  watches: Pick<WatchManager, 'apply' | 'reopen'> | undefined
  enrichment: Pick<Enrichment, 'prepare' | 'use'> | undefined
  health: SinkHealth
  metrics: Metrics
  log: Logger
}

/**
 * Puts another configuration in force. What can fail comes first and changes nothing; then all is exchanged at once, between
 * two commits and two batches: each of those follows one configuration from its beginning to its end.
 */
export async function apply(parts: ApplyParts, config: Config): Promise<Differences> {
  const { generations, sinkSet, lanes, watches, health, metrics } = parts
  const next = await createGeneration(config, parts.generation)
  const delivered = parts.delivers ? config.sinks : []
  const prepared = await sinkSet.prepare(delivered, next.choices.typeOf)
  await parts.enrichment?.prepare(next.needs)

  const before = generations.current
  const changes = await differences(before.config, config)
  const newRules = new Set([...changes.rules.added, ...changes.rules.changed])
  await startAtZero(metrics, {
    sinks: config.sinks.filter(({ name }) => changes.sinks.added.includes(name)),
    rules: config.rules.filter(({ name }) => newRules.has(name)),
  })
  const { anew, types } = otherTypes(generations, delivered)
  generations.exchange(next)
  parts.enrichment?.use(next.needs, config.enrich?.maxObjects)
  prepared.use()
  lanes.use(
    delivered.map(({ name }) => name),
    anew,
  )
  watches?.apply(config.watch)
  // A session knows from its opening on whether it keeps old objects.
  watches?.reopen((resource) => before.keepsOld(resource) !== next.keepsOld(resource))

  lanes.tryNow(prepared.opened)
  health.ask(prepared.opened)
  await forgetSeries(metrics.registry, 'rule', changes.rules.removed)
  for (const [sink, prefix] of types) await forgetSeries(metrics.registry, 'sink', [sink], prefix)
  if (!parts.delivers) await forgetSeries(metrics.registry, 'sink', changes.sinks.removed)
  return changes
}

/** Nothing waits for a removed sink any more. */
export async function letGo(
  { generations, health, sinkSet, metrics, log }: ApplyParts,
  sink: string,
): Promise<void> {
  log.info({ sink }, 'nothing waits for the removed sink any more: it is closed')
  generations.forget(sink)
  health.forget(sink)
  await Promise.all([sinkSet.drop(sink), forgetSeries(metrics.registry, 'sink', [sink])])
}

/** Sinks of which another type has the name now, and how the metrics of their old types begin. */
function otherTypes(generations: Generations, sinks: Config['sinks']) {
  const anew = new Set<string>()
  const types = new Map<string, string>()
  for (const { name, type } of sinks) {
    const before = generations.of(name).config.sinks.find((sink) => sink.name === name)
    if (!before || before.type === type) continue
    anew.add(name)
    types.set(name, prefixOf(before.type))
  }
  return { anew, types }
}
