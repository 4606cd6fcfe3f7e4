import type { DryRun, EventResult, RuleResult, Sent, TimerResult } from '../../app/dry-run/dry-run.ts'
import { type Watched, whyUnwatched } from '../../app/dry-run/match-report.ts'
import { shownValue } from '../../app/dry-run/rule-texts.ts'
import type { Path } from '../../config/document.ts'
import type { ExpectedTarget } from '../../config/schema/test-file.ts'
import type { ClusterEvent } from '../../model/event.ts'
import { compilePatterns, parsePatterns } from '../../rules/pattern.ts'
import type { Content } from '../../sink/index.ts'
import { contentLines } from './terminal-text.ts'
import type { ExpectedStep } from './test-files.ts'

/** An expectation that is not met. */
export interface Mismatch {
  /** The path from the test to the expectation. */
  path: Path
  key: string
  expected: string
  got: string
  /** The reasons for the result. */
  why: readonly string[]
}

/** Its path is that from the expectation; default: its key. */
type Unplaced = Omit<Mismatch, 'path'> & { path?: Path }

/** An event of a test, or the result of a timer. `result` is undefined for an event that is not watched. */
export type Step =
  | { kind: 'event'; event: ClusterEvent; watched: Watched; result: EventResult | undefined }
  | { kind: 'timer'; timer: TimerResult }

/** Compares the expectations of one step with the results. */
export function mismatchesOf(expect: ExpectedStep, steps: readonly Step[], run: DryRun): Mismatch[] {
  const ofRule = (rule: string) => expect.rule === undefined || expect.rule.includes(rule)
  const allResults = steps.flatMap((it) => (it.kind === 'event' ? (it.result?.rules ?? []) : []))
  const allSent = steps.flatMap((it) => (it.kind === 'event' ? (it.result?.sent ?? []) : it.timer.sent))
  const results = allResults.filter(({ rule }) => ofRule(rule))
  const sent = allSent.filter(({ delivery }) => ofRule(delivery.rule))
  const unwatched = steps.flatMap((it) => (it.kind === 'event' ? (unwatchedReason(it) ?? []) : []))
  const found: Unplaced[] = []
  const miss = (key: string, expected: string, got: string, why: readonly string[] = []) =>
    found.push({ key, expected, got, why: [...unique(unwatched), ...why] })
  const whyNotRules = () => (expect.rule ?? []).flatMap((name) => whyNot(name, steps, run))

  for (const rule of expect.rule ?? []) {
    const got = unmetRule(rule, expect, allResults, allSent)
    if (got !== undefined) miss('rule', rule, got, whyNot(rule, steps, run))
  }
  if (expect.to) {
    const got = unique(sent.map(({ delivery }) => delivery.sink))
    const names = unique(expect.to.map(({ sink }) => sink))
    const missing = names.filter((sink) => !got.includes(sink))
    const rules = run.snapshot.config.rules.filter(({ to = [] }) => to.some((it) => missing.includes(it)))
    const why = expect.rule ? [] : rules.flatMap(({ name }) => whyNot(name, steps, run))
    const surplus = allSent.filter(({ delivery }) => !names.includes(delivery.sink))
    const senders = unique(surplus.map(({ delivery: { sink, rule } }) => `${rule} sends to ${sink}`))
    if (missing.length > 0 || got.length !== names.length)
      miss('to', listed(names), listed(got), [...why, ...senders])
    found.push(...expect.to.flatMap((it) => optionMismatches(it, sent, run)))
  }
  if (expect.none && allSent.length > 0) miss('none', 'nothing is sent', describeSent(allSent))
  if (expect.messages !== undefined && expect.messages !== sent.length) {
    const got = `${sent.length}${sent.length === 0 ? '' : `: ${describeSent(sent)}`}`
    miss('messages', String(expect.messages), got, describeLimited(results))
  }
  if (expect.dropped !== undefined && expect.dropped !== results.some(({ outcome }) => outcome === 'dropped'))
    miss('dropped', String(expect.dropped), String(!expect.dropped), whyNotRules())
  const { suppressed } = expect
  if (suppressed) {
    const timers = steps.flatMap((it) => (it.kind === 'timer' ? [...it.timer.counts] : []))
    const isLimited =
      results.some((it) => it.limit === suppressed && isHeld(it)) ||
      timers.some(
        ([rule, counts]) =>
          ofRule(rule) && ((counts.suppressed as Record<string, number>)[suppressed] ?? 0) > 0,
      )
    const got = describeLimited(results).join(', ') || 'no limit suppressed it'
    if (!isLimited) miss('suppressed', suppressed, got, whyNotRules())
  }
  const notices = unique(sent.flatMap(({ delivery }) => delivery.notice?.kind ?? []))
  if (expect.notices && !notices.includes(expect.notices)) miss('notices', expect.notices, listed(notices))
  found.push(...contentMismatches(expect, sent))
  return found.map((it) => ({ ...it, path: [...expect.path, ...(it.path ?? [it.key])] }))
}

function unwatchedReason({ watched, event }: Extract<Step, { kind: 'event' }>): string | undefined {
  const why = whyUnwatched(watched, event.kind)
  return why === undefined ? undefined : `${why}: rules never see it`
}

function isHeld({ outcome }: RuleResult): boolean {
  return outcome === 'suppressed' || outcome === 'waiting'
}

/** Undefined when the result of the rule is as expected, else the result. */
function unmetRule(
  rule: string,
  { suppressed, dropped }: ExpectedStep,
  results: readonly RuleResult[],
  sent: readonly Sent[],
): string | undefined {
  if (sent.some(({ delivery }) => delivery.rule === rule)) return undefined
  const own = results.filter((it) => it.rule === rule)
  const isDone = own.some((it) => !isHeld(it) && it.outcome !== 'failed')
  if (isDone || (own.length > 0 && (suppressed !== undefined || dropped !== undefined))) return undefined
  const held = own.find(isHeld)
  if (held)
    return `it matches, and ${held.outcome === 'suppressed' ? `its ${held.limit} suppresses it` : `waits for its ${held.limit}`}`
  const failed = own.find(({ outcome }) => outcome === 'failed')
  return failed ? `it failed: ${shownValue(failed.error, 200)}` : 'it does not match'
}

/** Compares the options of each delivery to a sink, with templates filled in. */
function optionMismatches(
  { sink, options, path }: ExpectedTarget,
  sent: readonly Sent[],
  { snapshot }: DryRun,
): Unplaced[] {
  const own = sent.filter(({ delivery }) => delivery.sink === sink)
  return Object.entries(options).flatMap(([option, patterns]) => {
    const compiled = compilePatterns(patterns)
    const values = own.map((it) => optionOf(it, option, snapshot))
    if (values.every((it) => it.value !== undefined && compiled.ok && compiled.value(it.value))) return []
    const got = listed(unique(values.map((it) => shownValue(it.value ?? it.fault, 200))))
    const expected = listed([patterns].flat())
    return [{ key: `to.${sink}.${option}`, expected, got, why: [], path: ['to', ...path, option] }]
  })
}

function optionOf(
  { message, delivery: { sink } }: Sent,
  option: string,
  { choices, config }: DryRun['snapshot'],
): { value?: string; fault?: string } {
  try {
    const options = choices.preview(message, sink).options ?? {}
    if (Object.hasOwn(options, option)) return { value: options[option] as string }
    const known = Object.keys(options).join(', ') || 'none'
    const type = config.sinks.find(({ name }) => name === sink)?.type
    return { fault: `tests see no option "${option}" of a delivery to ${type}: there are ${known}` }
  } catch (error) {
    return { fault: `cannot be rendered: ${(error as Error).message}` }
  }
}

function contentMismatches(
  { text, severity }: ExpectedStep,
  sent: readonly Sent[],
): Omit<Mismatch, 'path'>[] {
  if (text === undefined && severity === undefined) return []
  const contents: Content[] = []
  let nothing = sent.length === 0 ? 'nothing is sent' : undefined
  for (const { message } of sent)
    try {
      contents.push(message.content)
    } catch (error) {
      nothing ??= `cannot be rendered: ${(error as Error).message}`
    }
  const found: Omit<Mismatch, 'path'>[] = []
  if (text !== undefined && !matchesText(text, contents.map(textsOf))) {
    const [first] = contents
    const got = shownValue(first?.title ?? nothing, 300)
    const why = first ? contentLines(first).slice(1) : []
    found.push({ key: 'text', expected: listed([text].flat()), got, why })
  }
  const others = unique(contents.map((it): string => it.severity).filter((it) => it !== severity))
  if (severity !== undefined && (others.length > 0 || contents.length === 0)) {
    const got = others.length > 0 ? listed(others) : (nothing ?? '')
    found.push({ key: 'severity', expected: severity, got, why: [] })
  }
  return found
}

/** The parts of a message that a pattern may match. */
function textsOf(content: Content): string[] {
  const { title, text, quote } = content
  const lines = contentLines(content)
  return [title, text, quote, ...lines, `${title}\n${text}`, lines.join('\n')]
}

/** A pattern matches a message when it matches a part of it; one with `!` must match no part of any message. */
function matchesText(patterns: string | string[], messages: readonly (readonly string[])[]): boolean {
  const parsed = parsePatterns(patterns)
  if (!parsed.ok || !compilePatterns(patterns).ok) return false
  const negative = parsed.value.filter(({ negated }) => negated)
  const positive = parsed.value.filter(({ negated }) => !negated)
  if (messages.some((texts) => texts.some((text) => negative.some((it) => it.test(text))))) return false
  return messages.some(
    (texts) => positive.length === 0 || texts.some((text) => positive.some((it) => it.test(text))),
  )
}

function describeSent(sent: readonly Sent[]): string {
  const lines = sent.map(
    ({ delivery: { sink, rule, notice } }) => `${sink} by ${rule}${notice ? ` (${notice.kind})` : ''}`,
  )
  return listed(unique(lines))
}

function describeLimited(results: readonly RuleResult[]): string[] {
  const lines = results
    .filter(isHeld)
    .map(({ rule, outcome, limit }) =>
      outcome === 'suppressed' ? `suppressed by ${limit} of ${rule}` : `${rule} waits for ${limit}`,
    )
  return unique(lines)
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'nothing' : names.join(', ')
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)]
}

/** The conditions that kept a rule from matching the events of a test, each once. */
function whyNot(rule: string, steps: readonly Step[], run: DryRun): string[] {
  const lines = steps.flatMap((step) => {
    if (step.kind !== 'event' || !step.result || step.result.rules.some((it) => it.rule === rule)) return []
    const unmet = run.conditionsOf(rule, step.event).conditions.filter(({ holds }) => !holds)
    if (unmet.length === 0) return endedBy(rule, step.result.rules, run)
    // For an object of another kind the other conditions do not matter.
    const shown = unmet[0]?.name === 'kind' ? unmet.slice(0, 1) : unmet
    return shown.map(({ name, expected, seen, error }) =>
      error === undefined
        ? `${rule}  ✗ ${name}  ${shownValue(expected, 60)}  seen: ${shownValue(seen)}`
        : `${rule}  ✗ ${name}  failed: ${shownValue(error, 200)}`,
    )
  })
  return unique(lines)
}

/** The conditions of the rule hold, but a rule above ended the evaluation. */
function endedBy(rule: string, results: readonly RuleResult[], { snapshot }: DryRun): string[] {
  const { rules } = snapshot.config
  const ending = results.find((it) => {
    const config = rules.find(({ name }) => name === it.rule)
    return it.outcome !== 'failed' && (config?.drop === true || config?.continue === false)
  })
  if (!ending) return []
  const verb = ending.outcome === 'dropped' ? 'drops the event' : 'ends with continue: false'
  return [`${rule} is not asked: ${ending.rule}, above it, ${verb}`]
}
