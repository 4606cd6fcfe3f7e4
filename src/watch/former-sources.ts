import type { Source, SourceStore } from '../change.ts'
import type { Logger } from '../log.ts'
import type { ClusterClient } from './cluster-client.ts'
import { crdStateOf } from './crd.ts'
import { planSources, type WatchPlan } from './plan.ts'
import { titleOf } from './resolve.ts'
import { shardsOf } from './split.ts'

export interface FormerSourcesParts {
  client: ClusterClient
  store: SourceStore
  log: Logger
  isRunning(key: string): boolean
  matcherOf(patterns: readonly string[]): (namespace: string) => boolean
}

const POSITION_GONE =
  'Redis has lost the position of this watch: it begins anew, and what happened since the last stop is not told'

/** What is stored of sources that an earlier start watched, and what became of them. */
export function createFormerSources({ client, store, log, isRunning, matcherOf }: FormerSourcesParts) {
  const buried = new Set<string>()

  /** Kinds that are waited for may have been watched before, and have gone while nobody looked: with all their objects. */
  async function bury(plan: WatchPlan, current: string, signal: AbortSignal): Promise<void> {
    if (plan.waiting.length === 0) return
    for (const source of await store.stored(signal)) {
      const lost = source.custom && source.clusterUid === current && wouldBe(plan, source, current)
      if (!lost || isRunning(source.key) || buried.has(source.key)) continue
      if ((await crdStateOf(client, source, signal)) !== 'none') continue
      const session = await store.open(source, signal)
      // Once more: a process that was frozen in between would bury what another one has begun to watch.
      const isGone = (await crdStateOf(client, source, signal)) === 'none'
      if (isGone && session.checkpoint && session.checkpoint.phase !== 'absent')
        await session.markAbsent(signal)
      buried.add(source.key)
    }
  }

  /** Would the entries that wait make this very source, if its resource were there? */
  function wouldBe(plan: WatchPlan, source: Source, current: string): boolean {
    const kind = titleOf(source.resource)
    const asked = plan.waiting.filter((entry) => entry.kind === source.spelling)
    const resource = { ...source.resource, singular: '', shortNames: [], preferred: true }
    const named = asked.map((entry) => ({ ...entry, kind }))
    const { sources } = planSources(named, { resources: [resource], silentGroups: [] }, current, matcherOf)
    return sources.flatMap((it) => [it, ...shardsOf(it)]).some(({ key }) => key === source.key)
  }

  /** Other selectors or namespaces make another source of a resource: it knows nothing of where the old one stood. */
  async function tellChanged(plan: WatchPlan, current: string, signal: AbortSignal): Promise<void> {
    const fresh = plan.sources.filter(({ key }) => !isRunning(key))
    if (fresh.length === 0) return
    const stored = await store.stored(signal)
    const wanted = new Set(plan.sources.map(({ key }) => key))
    for (const source of fresh) {
      if (stored.some(({ key }) => key === source.key)) {
        if (!(await store.peek(source, signal))) log.error({ watch: source.title }, POSITION_GONE)
        continue
      }
      const before = stored.filter(
        ({ key, clusterUid, resource }) =>
          !wanted.has(key) && clusterUid === current && titleOf(resource) === titleOf(source.resource),
      )
      if (before.length === 0) continue
      const fields = { watch: source.title, before: before.map(({ title }) => title).join('; ') }
      log.warn(
        fields,
        'selects otherwise than before: it begins anew, and what happened since the last stop is not told',
      )
    }
  }

  return {
    bury,
    tellChanged,
    /** A source runs again: the next time that it goes is another one. */
    begins: ({ key }: Source) => void buried.delete(key),
  }
}
