import type { Config } from './config/schema.ts'
import { mayMean, watchedKindOf } from './config/watched-kind.ts'
import { type KindKnowledge, type Needs, type NeedyRule, needsOf, type WatchedEntry } from './enrich/needs.ts'
import type { EnrichSettings } from './enrich/schema.ts'
import { isEventKind } from './rules/kind.ts'
import { parsePatterns } from './rules/pattern.ts'
import type { Patterns } from './rules/schema.ts'
import { runAtOnce } from './slices.ts'

/** What is known of kinds without a cluster. */
const KINDS: KindKnowledge = {
  isEvent: (kind) => watchedKindOf(kind)?.builtIn.some(isEventKind) ?? false,
  mayMatch(patterns, kind) {
    const watched = watchedKindOf(kind)
    const parsed = patterns === undefined ? undefined : parsePatterns(patterns as Patterns)
    if (!watched || !parsed?.ok) return true
    const negative = parsed.value.filter((it) => it.negated && it.form === 'literal')
    // Of a custom resource nobody knows without a cluster whether it is meant.
    if (watched.builtIn.length > 0 && negative.some((it) => mayMean(it, watched))) return false
    const positive = parsed.value.filter((it) => !it.negated)
    return positive.length === 0 || positive.some((it) => mayMean(it, watched))
  },
}

/** What of a configuration says what its rules need. */
export interface NeedyConfig {
  rules: readonly NeedyRule[]
  watch: readonly WatchedEntry[]
  enrich?: Pick<EnrichSettings, 'owners' | 'regarding'> | undefined
  /** The whole file as it was read: templates stand in it outside of rules, too. */
  written?: Config['written']
}

/** What the rules of a configuration need to know of the surroundings of events. */
export function needsOfConfig(config: NeedyConfig): Needs {
  return runAtOnce(stepsToNeeds(config))
}

/** The same in steps, which may be left. */
export function stepsToNeeds(config: NeedyConfig): Generator<void, Needs> {
  const { rules, watch, enrich = { owners: [] }, written } = config
  return needsOf(rules, watch, enrich, KINDS, (i) => templatesBeside(i, written))
}

/** What a rule says to its sinks, and what these say of all that they send: as written, for only their types know templates. */
function templatesBeside(i: number, written: Config['written']): unknown {
  const { rules, sinks } = (written ?? {}) as { rules?: unknown; sinks?: unknown }
  const { to } = mapOf(Array.isArray(rules) ? rules[i] : undefined)
  const names = [to].flat().flatMap((it) => (typeof it === 'string' ? [it] : Object.keys(mapOf(it))))
  return [to, ...names.map((name) => mapOf(sinks)[name])]
}

function mapOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
