import type { Silence, SilencedEvent, Silences } from '../../model/control.ts'
import { compileSilence, type SilenceTest } from './silence-match.ts'

/** Returns the compiled silences; undefined without any. Those that this version cannot compile are passed to `onFault` and left out. */
export function createSilences(
  silences: readonly Silence[],
  onFault: (silence: Silence, fault: string) => void = () => {},
): Silences | undefined {
  const tests = silences.flatMap((silence) => {
    const result = compileSilence(silence.match)
    if (result.ok) return { silence, ...result.value }
    onFault(silence, result.faults[0]?.message ?? 'is invalid')
    return []
  })
  if (tests.length === 0) return undefined
  // The one that lasts longest is found first.
  tests.sort((a, b) => b.silence.untilMs - a.silence.untilMs)
  const candidates = candidatesIn(tests)
  return {
    find: (rule, sink, event, atMs, onUntested = () => {}) =>
      candidates(rule, sink, event).find(
        (it) => isInForce(it.silence, atMs) && holds(it.ofEvent, event, () => onUntested(it.silence)),
      )?.silence,
  }
}

type OneSilence = SilenceTest & { silence: Silence }

/** Maximum size of all kept lists of candidates, a few MB, for any number of rules, sinks and namespaces. */
const MOST_KEPT = 200_000

/**
 * Returns the silences that rule, sink, kind, namespace and type of the change leave, in their order. These are the same for many events: a
 * thousand silences of other namespaces cost nothing.
 */
function candidatesIn(tests: readonly OneSilence[]) {
  const kept = new Map<string, readonly OneSilence[]>()
  let size = 0
  return (rule: string, sink: string, event: SilencedEvent): readonly OneSilence[] => {
    const { type, apiVersion, kind, namespace = '' } = event
    // None of these can have a space.
    const key = `${type} ${apiVersion} ${kind} ${namespace} ${sink} ${rule}`
    const known = kept.get(key)
    if (known) return known
    const found = tests.flatMap((it) =>
      it.ofRule(rule) && it.ofSink(sink) ? (withPlace(it, event) ?? []) : [],
    )
    size += found.length + 1
    if (size > MOST_KEPT) {
      kept.clear()
      size = found.length + 1
    }
    kept.set(key, found)
    return found
  }
}

/** Returns the silence if it is about the place of an event. One that cannot be tested stays, so that each event reports it. */
function withPlace(it: OneSilence, event: SilencedEvent): OneSilence | undefined {
  try {
    return it.ofPlace(event) ? it : undefined
  } catch {
    return { ...it, ofEvent: it.ofPlace }
  }
}

function isInForce({ fromMs, untilMs }: Silence, atMs: number): boolean {
  return atMs >= fromMs && atMs < untilMs
}

/** Returns false where a value is too long for a pattern: the author of an object must neither stop a commit nor lose an event. */
function holds(test: SilenceTest['ofEvent'], event: SilencedEvent, onUntested: () => void): boolean {
  try {
    return test(event)
  } catch {
    onUntested()
    return false
  }
}

/** No event is silenced by more silences in a row than this: `silencedUntil` ends. */
const MOST_STEPS = 1_000

/** Returns the first time from `atMs` at which not all of the sinks are silenced. */
export function silencedUntil(
  silences: Silences | undefined,
  { rule, sinks, event }: { rule: string; sinks: readonly string[]; event: SilencedEvent },
  atMs: number,
): number {
  if (!silences || sinks.length === 0) return atMs
  let untilMs = atMs
  for (let step = 0; step < MOST_STEPS; step++) {
    const found = sinks.map((sink) => silences.find(rule, sink, event, untilMs))
    if (found.includes(undefined)) break
    untilMs = Math.min(...found.map((it) => it?.untilMs ?? untilMs))
  }
  return untilMs
}
