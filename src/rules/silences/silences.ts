import type { Silence, SilencedEvent, Silences } from '../../model/silence.ts'
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
  return {
    find: (rule, sink, event, atMs, onUntested = () => {}) =>
      tests.find(
        (it) => isFor(it, rule, sink, atMs) && holds(it.ofEvent, event, () => onUntested(it.silence)),
      )?.silence,
  }
}

function isFor(
  { silence: { fromMs, untilMs }, ofRule, ofSink }: SilenceTest & { silence: Silence },
  rule: string,
  sink: string,
  atMs: number,
): boolean {
  return atMs >= fromMs && atMs < untilMs && ofRule(rule) && ofSink(sink)
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
