import type { Config } from '../../config/schema.ts'
import { type ClusterEvent, headerOf } from '../../model/event.ts'
import { isEventKind } from '../../rules/kind.ts'
import type { Message } from '../../sink/index.ts'
import type { Paint } from '../output/colour.ts'
import type { DryRun, EventResult, RuleResult } from './dry-run.ts'
import { withLogs } from './logs.ts'
import { type ConditionResult, type Watched, watchedBy, whyUnwatched } from './match-report.ts'
import { limitTexts, previewLines, shownPreview, shownValue } from './terminal-text.ts'

/**
 * `matches`: the rule matches; `no`: a condition does not hold; `other-kind`: it is for objects of other kinds; `not-asked`: a rule
 * above has ended the evaluation.
 */
type Verdict = 'matches' | 'no' | 'other-kind' | 'not-asked'

interface ExplainedRule {
  rule: string
  config: Config['rules'][number]
  /** `kubeherald.yaml:24:5` */
  place: string | undefined
  verdict: Verdict
  conditions: readonly ConditionResult[]
  /** Of a rule that matches, or failed. */
  result?: RuleResult
  /** The message for each sink, sent as soon as the limits permit it. */
  messages: readonly { sink: string; type: string; message: Message }[]
}

/** The result of a configuration for one event, with the reasons. */
export interface Explanation {
  event: ClusterEvent
  watched: Watched
  /** The place of the entry of `watch` that selects it. */
  watchPlace: string | undefined
  rules: readonly ExplainedRule[]
  result: EventResult
}

/** Evaluates an event in the run and explains the result of each rule. */
export function explainEvent(run: DryRun, event: ClusterEvent, atMs: number): Explanation {
  const { config, choices } = run.snapshot
  const delivered = { event: headerOf(event), objectJson: event.objectJson }
  const result = run.evaluate(event, atMs)
  const watched = watchedBy(config.watch, event)
  let hasEnded = false
  const rules = config.rules.map((rule, index): ExplainedRule => {
    const { name } = rule
    const own = result.rules.find((it) => it.rule === name)
    const { ofKind, conditions } = run.conditionsOf(name, event)
    const isMatch = own !== undefined && own.outcome !== 'failed'
    const verdict = isMatch ? 'matches' : hasEnded ? 'not-asked' : ofKind ? 'no' : 'other-kind'
    if (isMatch && (rule.drop || rule.continue === false)) hasEnded = true
    const messages = (own?.sinks ?? []).map((sink) => ({
      sink,
      type: config.sinks.find((it) => it.name === sink)?.type ?? '',
      message: choices.render(withLogs(run.snapshot, { sink, rule: name, ...delivered }), 0),
    }))
    const place = config.placeOf?.(['rules', index, 'name'])
    return { rule: name, config: rule, place, verdict, conditions, ...(own && { result: own }), messages }
  })
  const watchPlace = watched.entry === undefined ? undefined : config.placeOf?.(['watch', watched.entry])
  return { event, watched, watchPlace, rules, result }
}

/** An explanation as plain data. */
export function explainJson(run: DryRun, { event, watched, watchPlace, rules, result }: Explanation): object {
  return {
    event: headerOf(event),
    watched: watched.entry === undefined ? false : { entry: watched.entry, place: watchPlace },
    ...(watched.entry === undefined && { watchMisses: watched.kinds }),
    counted: result.counted,
    rules: rules.map(({ rule, config, place, verdict, conditions, result: own, messages }) => ({
      rule,
      place,
      verdict,
      conditions: conditions.map((it) => ({ ...it, seen: it.seen ?? null })),
      limits: limitTexts(config),
      ...(own && { result: own }),
      messages: messages.map(({ message, ...it }) => ({ ...it, ...previewJson(run, message, it.sink) })),
    })),
    sent: result.sent.map(({ delivery: { sink, rule, notice } }) => ({
      sink,
      rule,
      ...(notice && { notice }),
    })),
  }
}

function previewJson(run: DryRun, message: Message, sink: string): object {
  try {
    return { ...shownPreview(run, message, sink), content: message.content }
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) }
  }
}

interface ExplainTextOptions {
  paint: Paint
  /** Rules for other kinds, too. */
  all?: boolean | undefined
  /** This rule alone. */
  rule?: string | undefined
  /** This sink alone, with the full body. */
  sink?: string | undefined
  /** Why the change has this type, if it is a guess. */
  typeNote?: string | undefined
}

/** An explanation as text: the event, each rule with its conditions, and the result. */
export function explainText(run: DryRun, it: Explanation, options: ExplainTextOptions): string {
  const { all, rule } = options
  const shown = it.rules.filter(
    ({ rule: name, verdict }) => rule === name || (rule === undefined && (all || verdict !== 'other-kind')),
  )
  const hidden = rule === undefined ? it.rules.filter((other) => !shown.includes(other)) : []
  const parts = [
    headLines(it, options),
    ...shown.map((rule) => ruleLines(run, rule, options)),
    hiddenLines(hidden, options),
    rule === undefined ? verdictLines(it, options) : [],
  ]
  return parts
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n')
}

function headLines({ event, watched, watchPlace }: Explanation, { paint, typeNote }: ExplainTextOptions) {
  const { kind, namespace, name, type, synthesized } = event
  const title = `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`
  const details = [type, synthesized && 'synthesized', ...kubeEventDetails(event), event.time].filter(Boolean)
  const from = watched.entry === undefined ? [] : [`watched by ${watchPlace ?? `watch[${watched.entry}]`}`]
  return [
    `${paint('bold', shownValue(title))}  ${shownValue(details.join(' · '), 200)}`,
    ...[...from, ...(typeNote === undefined ? [] : [typeNote])].map((line) => `  ${paint('dim', line)}`),
  ]
}

function kubeEventDetails({ event, resource }: Explanation['event']): (string | false)[] {
  if (!event || !isEventKind(resource)) return []
  const { type, reason, regarding, count } = event
  const about = [regarding.kind, regarding.name].filter(Boolean).join(' ')
  return [`${type} ${reason}`.trim(), about && `about ${about}`, count > 1 && `${count} times`]
}

function ruleLines(run: DryRun, explained: ExplainedRule, options: ExplainTextOptions): string[] {
  const { paint } = options
  const { rule, place, verdict, conditions, result } = explained
  const isMatch = verdict === 'matches'
  const where = place ? `  ${paint('dim', place)}` : ''
  if (verdict === 'not-asked')
    return [`${paint('bold', `- ${rule}`)}  not asked: a rule above has ended it${where}`]
  const lines = [`${isMatch ? paint('good', `✓ ${rule}`) : paint('bold', `✗ ${rule}`)}${where}`]
  lines.push(...conditionLines(conditions, paint))
  if (result?.outcome === 'failed')
    lines.push(`  ${paint('bad', `it failed, and so does not match: ${shownValue(result.error, 300)}`)}`)
  if (result && isMatch) lines.push(...resultLines(run, explained, result, options))
  return lines
}

function conditionLines(conditions: readonly ConditionResult[], paint: Paint): string[] {
  if (conditions.length === 0) return [`  ${paint('good', '✓')} asks nothing: every event matches`]
  const nameWidth = Math.max(...conditions.map(({ name }) => name.length))
  const values = conditions.map((it) => shownValue(it.expected, 60))
  const valueWidth = Math.min(40, Math.max(...values.map((it) => it.length)))
  return conditions.map(({ name, seen, holds, error }, i) => {
    const expected = (values[i] as string).padEnd(valueWidth)
    const saw = error === undefined ? `seen: ${shownValue(seen, 80)}` : `failed: ${shownValue(error, 200)}`
    if (holds)
      return `  ${paint('good', '✓')} ${name.padEnd(nameWidth)}  ${expected}  ${paint('dim', saw)}`.trimEnd()
    return `  ${paint('deciding', `✗ ${name.padEnd(nameWidth)}  ${expected}  ${saw}`)}`
  })
}

function resultLines(
  run: DryRun,
  { config, messages }: ExplainedRule,
  result: RuleResult,
  { paint, sink: onlySink }: ExplainTextOptions,
): string[] {
  const limits = result.outcome === 'dropped' ? [] : limitTexts(config)
  const lines = limits.map(({ name, text }) => `  ${paint('info', `limit ${name}`)}  ${text}`)
  const reason = REASONS[result.outcome]?.(result, config.to ?? [])
  if (reason) lines.push(`  ${paint('warn', reason)}`)
  let last = { sink: '', text: '' }
  for (const { sink, type, message } of messages) {
    if (onlySink !== undefined && onlySink !== sink) continue
    const preview = previewLines(run, message, sink, onlySink === sink)
    const { target, fault } = preview
    const arrow = result.outcome === 'sent' ? '→' : '⇢'
    const destination = paint('dim', `${type}${target ? `, ${target}` : ''}`)
    lines.push(`  ${paint('good', `${arrow} ${sink}`)} ${destination}`)
    const text = preview.lines.join('\n')
    const isRepeated = text !== '' && text === last.text
    lines.push(...(isRepeated ? [`(the same as ${last.sink})`] : preview.lines).map((it) => `      ${it}`))
    if (!isRepeated) last = { sink, text }
    if (fault !== undefined)
      lines.push(`      ${paint('bad', `cannot be rendered, so it would be a dead letter: ${fault}`)}`)
  }
  return lines
}

const REASONS: Partial<Record<RuleResult['outcome'], (it: RuleResult, to: readonly string[]) => string>> = {
  suppressed: ({ limit, silence }) =>
    `held back by ${shownValue(silence ?? limit, 300)}; what it would send else:`,
  waiting: ({ limit }) =>
    limit === 'for'
      ? 'waits until it has lasted so long; then it sends:'
      : limit === 'debounce'
        ? 'waits until nothing newer comes; then it sends:'
        : 'waits for its digest; by itself it would send:',
  digested: () => 'sent in a digest with others; by itself it would send:',
  dropped: () => 'dropped: no rule below sees it',
  taken: (_, to) =>
    to.length === 0
      ? 'sends nothing: it names no sink'
      : `sends nothing: rules above have taken ${to.join(', ')}`,
}

function hiddenLines(hidden: readonly ExplainedRule[], { paint }: ExplainTextOptions): string[] {
  if (hidden.length === 0) return []
  const names = hidden.slice(0, 6).map(({ rule }) => rule)
  const more = hidden.length > names.length ? ` and ${hidden.length - names.length} more` : ''
  const rules = hidden.length === 1 ? '1 rule is' : `${hidden.length} rules are`
  return [paint('dim', `- ${rules} for other kinds: ${names.join(', ')}${more} (--all shows them)`)]
}

function verdictLines(
  { event, watched, rules, result }: Explanation,
  { paint }: ExplainTextOptions,
): string[] {
  const lines: string[] = []
  const unwatched = whyUnwatched(watched, event.kind)
  if (unwatched !== undefined) lines.push(paint('warn', `! rules never see it: ${unwatched}`))
  const would = unwatched === undefined ? 'is sent' : 'would be sent if it were watched'
  for (const [rule, sent] of Map.groupBy(result.sent, ({ delivery }) => delivery.rule)) {
    const sinks = sent.map(({ delivery }) => delivery.sink).join(', ')
    lines.push(paint('good', `→ ${would} to ${sinks} by ${rule}`))
  }
  for (const { rule, limit, silence, outcome } of result.rules) {
    const waits = { for: 'if it lasts', debounce: 'whether something newer comes' }
    const wait = waits[limit as keyof typeof waits] ?? `for its ${limit}`
    if (outcome === 'suppressed')
      lines.push(
        paint(
          'warn',
          `⏸ ${rule} matches, and ${shownValue(silence ?? `its ${limit}`, 300)} holds this one back`,
        ),
      )
    if (outcome === 'waiting') lines.push(paint('warn', `⏸ ${rule} matches, and waits ${wait}`))
    if (outcome === 'dropped') lines.push(paint('warn', `■ dropped by ${rule}`))
  }
  if (lines.length > 0) return lines
  const matches = rules.some(({ verdict }) => verdict === 'matches')
  return [paint('warn', matches ? '∅ is sent nowhere' : '∅ is sent nowhere: no rule matches')]
}
