import type { Path } from '../config/document.ts'
import { compilePatterns, parsePatterns } from '../rules/pattern.ts'
import { contentLines } from './content-lines.ts'
import type { DryRun, Later, RuleFate, Sent } from './dry-run.ts'
import { shownValue } from './shown-value.ts'
import type { Step } from './step.ts'
import type { ExpectedStep } from './test-case.ts'
import { whyNot, whyUnwatched } from './why.ts'

/** An expectation that is not met. */
export interface Mismatch {
  /** Leads from the test to what was expected. */
  path: Path
  key: string
  expected: string
  got: string
  /** What decided it. */
  why: readonly string[]
}

/** Compares what is expected with what came to pass. */
export function mismatchesOf(expect: ExpectedStep, steps: readonly Step[], run: DryRun): Mismatch[] {
  const seen = seenIn(steps)
  const ofRule = (rule: string) => expect.rule === undefined || expect.rule.includes(rule)
  const sent = seen.sent.filter(({ delivery }) => ofRule(delivery.rule))
  const fates = seen.fates.filter(({ rule }) => ofRule(rule))
  const found: Omit<Mismatch, 'path'>[] = []
  const miss = (key: string, expected: string, got: string, why: readonly string[] = []) =>
    found.push({ key, expected, got, why: [...seen.unwatched, ...why] })

  for (const rule of expect.rule ?? []) {
    const got = standingOf(rule, expect, seen)
    if (got !== undefined) miss('rule', rule, got, whyNot(rule, steps, run))
  }
  if (expect.to) {
    const got = unique(sent.map(({ delivery }) => delivery.sink))
    const lacking = expect.to.filter((sink) => !got.includes(sink))
    const rules = run.generation.config.rules.filter(({ to = [] }) => to.some((it) => lacking.includes(it)))
    const why =
      expect.rule || lacking.length === 0 ? [] : rules.flatMap(({ name }) => whyNot(name, steps, run))
    if (!sameNames(expect.to, got))
      miss('to', listed(expect.to), listed(got), why.concat(surplus(expect.to, seen.sent)))
  }
  if (expect.none && seen.sent.length > 0) miss('none', 'nothing is sent', sentWords(seen.sent))
  if (expect.messages !== undefined && expect.messages !== sent.length)
    miss(
      'messages',
      String(expect.messages),
      `${sent.length}${sent.length === 0 ? '' : `: ${sentWords(sent)}`}`,
      heldWords(fates),
    )
  if (expect.dropped !== undefined && expect.dropped !== fates.some(({ fate }) => fate === 'dropped'))
    miss('dropped', String(expect.dropped), String(!expect.dropped), whyNotAny(expect, steps, run))
  if (expect.suppressed && !isSuppressed(expect.suppressed, fates, seen.laters, ofRule)) {
    const got = heldWords(fates)
    miss(
      'suppressed',
      expect.suppressed,
      got.join(', ') || 'no limit held it back',
      whyNotAny(expect, steps, run),
    )
  }
  if (expect.notices && !sent.some(({ delivery }) => delivery.notice?.kind === expect.notices))
    miss('notices', expect.notices, noticesIn(sent) || 'none', [])
  found.push(...contentMismatches(expect, sent))
  return found.map((it) => ({ ...it, path: [...expect.path, it.key] }))
}

interface Seen {
  fates: readonly RuleFate[]
  sent: readonly Sent[]
  laters: readonly Later[]
  unwatched: readonly string[]
}

function seenIn(steps: readonly Step[]): Seen {
  return {
    fates: steps.flatMap((it) => (it.kind === 'event' ? (it.fate?.rules ?? []) : [])),
    sent: steps.flatMap((it) => (it.kind === 'event' ? (it.fate?.sent ?? []) : it.later.sent)),
    laters: steps.flatMap((it) => (it.kind === 'later' ? [it.later] : [])),
    unwatched: unique(steps.flatMap((it) => (it.kind === 'event' ? whyUnwatched(it.watched, it.event) : []))),
  }
}

/** Undefined when the rule did what is expected of it, else what it did. */
function standingOf(
  rule: string,
  { suppressed, dropped }: ExpectedStep,
  { fates, sent }: Seen,
): string | undefined {
  if (sent.some(({ delivery }) => delivery.rule === rule)) return undefined
  const own = fates.filter((it) => it.rule === rule)
  const done = own.find(({ fate }) => fate !== 'held' && fate !== 'waits' && fate !== 'failed')
  if (done || (own.length > 0 && (suppressed !== undefined || dropped !== undefined))) return undefined
  const held = own.find(({ fate }) => fate === 'held' || fate === 'waits')
  if (held)
    return `it matches, and ${held.fate === 'held' ? `its ${held.limit} holds it back` : `waits for its ${held.limit}`}`
  const failed = own.find(({ fate }) => fate === 'failed')
  return failed ? `it failed: ${shownValue(failed.error, 200)}` : 'it does not match'
}

function isSuppressed(
  limit: string,
  fates: readonly RuleFate[],
  laters: readonly Later[],
  ofRule: (rule: string) => boolean,
): boolean {
  if (fates.some((it) => it.limit === limit && (it.fate === 'held' || it.fate === 'waits'))) return true
  return laters.some(({ counts }) =>
    [...counts].some(
      ([rule, { suppressed }]) => ofRule(rule) && ((suppressed as Record<string, number>)[limit] ?? 0) > 0,
    ),
  )
}

function contentMismatches(
  { text, severity }: ExpectedStep,
  sent: readonly Sent[],
): Omit<Mismatch, 'path'>[] {
  if (text === undefined && severity === undefined) return []
  const told = sent.map(({ message }) => {
    try {
      return { content: message.content }
    } catch (error) {
      return { fault: `cannot be rendered: ${(error as Error).message}` }
    }
  })
  const faults = told.flatMap(({ fault }) => fault ?? [])
  const contents = told.flatMap(({ content }) => content ?? [])
  const found: Omit<Mismatch, 'path'>[] = []
  if (text !== undefined && !passesText(text, contents.map(textsOf))) {
    const [first] = contents
    const got = first ? shownValue(first.title, 300) : (faults[0] ?? 'nothing is sent')
    found.push({
      key: 'text',
      expected: listed([text].flat()),
      got: shownValue(got, 300),
      why: first ? contentLines(first).slice(1) : [],
    })
  }
  const others = unique(contents.map((it): string => it.severity).filter((it) => it !== severity))
  if (severity !== undefined && (others.length > 0 || contents.length === 0))
    found.push({
      key: 'severity',
      expected: severity,
      got: listed(others) || faults[0] || 'nothing is sent',
      why: [],
    })
  return found
}

/** All that one message says, in the pieces that a pattern may mean. */
function textsOf(content: Sent['message']['content']): string[] {
  const { title, text, quote } = content
  const lines = contentLines(content)
  return [title, text, quote, ...lines, `${title}\n${text}`, lines.join('\n')]
}

/** A pattern means a message when it means a piece of it; a `!` keeps all of them away. */
function passesText(patterns: string | string[], messages: readonly (readonly string[])[]): boolean {
  const parsed = parsePatterns(patterns)
  const compiled = compilePatterns(patterns)
  if (!parsed.ok || !compiled.ok) return false
  const negative = parsed.value.filter(({ negated }) => negated)
  const positive = parsed.value.filter(({ negated }) => !negated)
  if (messages.some((texts) => texts.some((text) => negative.some((it) => it.test(text))))) return false
  return messages.some(
    (texts) => positive.length === 0 || texts.some((text) => positive.some((it) => it.test(text))),
  )
}

function whyNotAny({ rule }: ExpectedStep, steps: readonly Step[], run: DryRun): string[] {
  return (rule ?? []).flatMap((name) => whyNot(name, steps, run))
}

function surplus(wanted: readonly string[], sent: readonly Sent[]): string[] {
  return unique(
    sent
      .filter(({ delivery }) => !wanted.includes(delivery.sink))
      .map(({ delivery: { sink, rule } }) => `${rule} sends to ${sink}`),
  )
}

function sentWords(sent: readonly Sent[]): string {
  return listed(
    unique(
      sent.map(
        ({ delivery: { sink, rule, notice } }) => `${sink} by ${rule}${notice ? ` (${notice.kind})` : ''}`,
      ),
    ),
  )
}

function heldWords(fates: readonly RuleFate[]): string[] {
  return unique(
    fates.flatMap(({ rule, fate, limit }) =>
      fate === 'held'
        ? `${limit} of ${rule} held back`
        : fate === 'waits'
          ? `${rule} waits for ${limit}`
          : [],
    ),
  )
}

function noticesIn(sent: readonly Sent[]): string {
  return listed(unique(sent.flatMap(({ delivery }) => delivery.notice?.kind ?? [])))
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((it) => b.includes(it))
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'nothing' : names.join(', ')
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)]
}
