import { isClusterScoped, mayMean, titleOf, watchedKindOf } from '../config/lint/watched-kind.ts'
import type { Config } from '../config/schema.ts'
import { isEventKind } from '../rules/kind.ts'
import { type Patterns, parsePatterns } from '../rules/pattern.ts'
import { runSynchronously } from '../text/yielding.ts'
import {
  type KindKnowledge,
  type MetadataRequirements,
  type NeedyRule,
  requirementsOf,
  type WatchedEntry,
} from '../watch/metadata/metadata-requirements.ts'
import type { EnrichSettings } from '../watch/schema.ts'

/** Kinds that are known without a cluster. */
export const KINDS: KindKnowledge = {
  isEvent: (kind) => watchedKindOf(kind)?.builtIn.some(isEventKind) ?? false,
  coreClusterKind(kind) {
    const watched = watchedKindOf(kind)
    const isCore = watched?.builtIn[0]?.group === ''
    return isCore && isClusterScoped(watched) ? titleOf(watched) : undefined
  },
  mayMatch(patterns, kind) {
    const watched = watchedKindOf(kind)
    const parsed = patterns === undefined ? undefined : parsePatterns(patterns as Patterns)
    if (!watched || !parsed?.ok) return true
    const negative = parsed.value.filter((it) => it.negated && it.form === 'literal')
    // Without a cluster it is unknown whether the pattern is the name of a custom resource.
    if (watched.builtIn.length > 0 && negative.some((it) => mayMean(it, watched))) return false
    const positive = parsed.value.filter((it) => !it.negated)
    return positive.length === 0 || positive.some((it) => mayMean(it, watched))
  },
}

/** The parts of a configuration that determine the metadata requirements. */
interface NeedyConfig {
  rules: readonly NeedyRule[]
  watch: readonly WatchedEntry[]
  enrich?: Pick<EnrichSettings, 'owners' | 'regarding'> | undefined
  /** The whole file as read, because templates are also outside of rules. */
  written?: Config['written']
}

/** Returns the metadata requirements of a configuration. */
export function needsOfConfig(config: NeedyConfig): MetadataRequirements {
  return runSynchronously(stepsToNeeds(config))
}

/** The same in steps, which can be abandoned. */
export function stepsToNeeds(config: NeedyConfig): Generator<void, MetadataRequirements> {
  const { rules, watch, enrich = { owners: [] }, written } = config
  return requirementsOf(rules, watch, enrich, KINDS, (i) => templatesForRule(i, written))
}

/** Returns the templates of a rule and of its sinks, as written, because only the sink types know which texts are templates. */
function templatesForRule(i: number, written: Config['written']): unknown {
  const { rules, sinks } = (written ?? {}) as { rules?: unknown; sinks?: unknown }
  const { to } = mapOf(Array.isArray(rules) ? rules[i] : undefined)
  const names = [to].flat().flatMap((it) => (typeof it === 'string' ? [it] : Object.keys(mapOf(it))))
  return [to, ...names.map((name) => mapOf(sinks)[name])]
}

function mapOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
