import type { ConfigSnapshot } from '../../app/config-snapshot.ts'
import { startEnrichment } from '../../app/metadata-informers.ts'
import type { Config } from '../../config/schema.ts'
import type { Source, Transition } from '../../model/change.ts'
import type { ClusterEvent } from '../../model/event.ts'
import { createMetrics } from '../../observe/metrics.ts'
import { compilePattern } from '../../rules/pattern.ts'
import { matcherOfSelector } from '../../rules/selector.ts'
import { createMemorySourceStore } from '../../store/commit/memory-source-store.ts'
import type { PreviousStorage } from '../../store/commit/transact.ts'
import { userAgent } from '../../version.ts'
import { connectCluster } from '../../watch/client/connect.ts'
import { normalise } from '../../watch/decode/normalise.ts'
import { objectJsonOf } from '../../watch/decode/trim.ts'
import { createWatchManager, type WatchManager } from '../../watch/reflector/manager.ts'
import { DEFAULT_TIMING } from '../../watch/reflector/timing.ts'
import { commandLog } from '../command-log.ts'
import { kubeconfigOptions } from '../environment.ts'

interface WatchesParts {
  config: Pick<Config, 'kubernetes' | 'enrich'>
  /** The context of `--context`. */
  context: string | undefined
  /** The cluster's name in events. */
  cluster: string
  /** For the hashes of values in Secrets. */
  salt: Buffer
  snapshot: Pick<ConfigSnapshot, 'needs' | 'named'>
  /** Returns true for resources whose previous objects are kept, for diffs. */
  keepsPrevious: PreviousStorage['stores']
  /** Called with the changes of each source in their order; the source continues when it resolves. `eventOf` normalises one. */
  onTransitions(
    source: Source,
    transitions: readonly Transition[],
    eventOf: (transition: Transition) => ClusterEvent,
  ): void | Promise<void>
}

/** Watches of a command, with the metadata that rules use: positions and index are in memory, every watch begins with the present state. */
export interface WatchesInMemory extends AsyncDisposable {
  /** Watches nothing until entries are applied. */
  watches: WatchManager
}

export function startWatchesInMemory(parts: WatchesParts): WatchesInMemory {
  const { config, cluster, salt, onTransitions } = parts
  const { needs, named } = parts.snapshot
  const stack = new AsyncDisposableStack()
  const client = connectCluster({ ...kubeconfigOptions(config.kubernetes, parts.context), userAgent })
  stack.defer(() => client.close())
  const common = { client, metrics: createMetrics(), log: commandLog('warn', true).log, clock: Date }
  const enrichment = startEnrichment(common)
  stack.defer(() => enrichment.close())
  enrichment.use(needs, config.enrich?.maxObjects)
  const owners = needs.owners || needs.regardingOwners
  const { inTemplates } = needs
  const context = { cluster, salt, surroundings: enrichment.surroundings, owners, inTemplates, named }
  const store = createMemorySourceStore({
    onTransitions: (source, transitions) =>
      onTransitions(source, transitions, (transition) => normalise(source, transition, context)),
    enrich: enrichment.awaitMetadata,
    previous: {
      stores: parts.keepsPrevious,
      jsonOf: (resource, object) => objectJsonOf(resource, object, salt),
    },
    clock: Date,
  })
  const { maxObjectSize: maxObjectBytes } = config.kubernetes
  const watches = createWatchManager({
    ...common,
    store,
    random: Math.random,
    timing: DEFAULT_TIMING,
    matcherOf: compilePattern,
    selectorOf: matcherOfSelector,
    ...(maxObjectBytes !== undefined && { maxObjectBytes }),
  })
  stack.defer(() => watches.close())
  return { watches, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}
