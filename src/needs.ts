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
}

/** What the rules of a configuration need to know of the surroundings of events. */
export function needsOfConfig(config: NeedyConfig): Needs {
  return runAtOnce(stepsToNeeds(config))
}

/** The same in steps, which may be left. */
export function stepsToNeeds(config: NeedyConfig): Generator<void, Needs> {
  return needsOf(config.rules, config.watch, config.enrich ?? { owners: [] }, KINDS)
}
