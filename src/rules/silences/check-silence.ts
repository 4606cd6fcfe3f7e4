import type { SilenceMatch } from '../../model/control.ts'
import { MAX_ACTOR } from '../../model/control.ts'
import { nearest } from '../../text/closest-match.ts'
import { type Compiled, compiled, type Fault } from '../fault.ts'
import { compilePatterns, exactTexts, type Patterns } from '../pattern.ts'
import { compileSilence } from './silence-match.ts'

/** A silence as a user asks for it. */
export interface AskedSilence {
  match: SilenceMatch
  /** Unix milliseconds. */
  fromMs: number
  untilMs: number
  reason: string
  by: string
  /** A match without conditions is intended. */
  all?: boolean
}

/** Names that the configuration has; undefined: not known, so not compared. */
export interface KnownNames {
  rules: readonly string[] | undefined
  sinks: readonly string[] | undefined
}

const MAX_REASON = 500
const MAX_MS = 366 * 86_400_000

/** Returns the silence to store, or all faults; their paths begin at the silence: `['match', 'rule']`, `['untilMs']`. */
export function checkSilence(
  asked: AskedSilence,
  known: KnownNames,
  nowMs: number,
): Compiled<Omit<AskedSilence, 'all'>> {
  const { match, fromMs, untilMs, reason, by } = asked
  const faults = [...matchFaults(asked, known), ...timeFaults(asked, nowMs)]
  const texts = [
    ['reason', reason, MAX_REASON],
    ['by', by, MAX_ACTOR],
  ] as const
  for (const [path, text, most] of texts)
    if (text.length > most) faults.push({ path: [path], message: `is longer than ${most} characters` })
  if (by.trim() === '') faults.push({ path: ['by'], message: 'is empty: name who silences' })
  return faults.length > 0 ? { ok: false, faults } : compiled({ match, fromMs, untilMs, reason, by })
}

function matchFaults({ match, all }: AskedSilence, { rules, sinks }: KnownNames): Fault[] {
  const result = compileSilence(match)
  if (!result.ok) return result.faults.map((it) => ({ ...it, path: ['match', ...it.path] }))
  if (result.value.isEmpty && !all)
    return [
      {
        path: ['match'],
        message: 'has no condition, so the silence would match everything',
        hint: 'name a namespace, a rule or a sink; --all confirms a silence of everything',
      },
    ]
  return [
    ...unknownNames('rule', match['rule'] as Patterns | undefined, rules),
    ...unknownNames('sink', match['sink'] as Patterns | undefined, sinks),
  ]
}

/** An exact name must be known, and other patterns match one at least. */
function unknownNames(
  what: string,
  patterns: Patterns | undefined,
  known: readonly string[] | undefined,
): Fault[] {
  if (patterns === undefined || known === undefined) return []
  const path = ['match', what]
  const exact = exactTexts(patterns)
  if (exact)
    return exact
      .filter((name) => !known.includes(name))
      .map((name) => {
        const near = nearest(name, known)
        const hint = near ? `did you mean "${near}"?` : `there are ${known.slice(0, 20).join(', ') || 'none'}`
        return { path, message: `there is no ${what} "${name}"`, hint }
      })
  const test = compilePatterns(patterns)
  if (!test.ok || known.some((name) => test.value(name))) return []
  return [
    { path, message: `matches no ${what}`, hint: `there are ${known.slice(0, 20).join(', ') || 'none'}` },
  ]
}

function timeFaults({ fromMs, untilMs }: AskedSilence, nowMs: number): Fault[] {
  const textOf = (ms: number) => new Date(ms).toISOString()
  if (!isTime(fromMs) || !isTime(untilMs))
    return [{ path: [isTime(fromMs) ? 'untilMs' : 'fromMs'], message: 'is not a time' }]
  if (untilMs <= nowMs)
    return [
      { path: ['untilMs'], message: `${textOf(untilMs)} is past`, hint: 'choose a time that is to come' },
    ]
  if (untilMs <= fromMs)
    return [
      {
        path: ['untilMs'],
        message: `${textOf(untilMs)} is not after the begin, ${textOf(fromMs)}`,
        hint: 'choose a later end',
      },
    ]
  if (untilMs - nowMs > MAX_MS)
    return [
      {
        path: ['untilMs'],
        message: 'is more than a year from now',
        hint: 'what is never to be sent belongs into the rules: drop, or another condition',
      },
    ]
  return []
}

/** Whether a Date can have it. */
function isTime(ms: number): boolean {
  return !Number.isNaN(new Date(ms).getTime())
}
