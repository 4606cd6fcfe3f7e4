import type { DryRun, RuleResult } from '../../app/dry-run/dry-run.ts'
import type { ExplainedRule, Explanation } from '../../app/dry-run/explanation.ts'
import { type ConditionResult, whyUnwatched } from '../../app/dry-run/match-report.ts'
import { limitTexts, shownValue } from '../../app/dry-run/rule-texts.ts'
import { isEventKind } from '../../rules/kind.ts'
import { objectTitle } from '../../text/object-title.ts'
import type { Paint } from '../output/colour.ts'
import { previewLines } from './terminal-text.ts'

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
  const { type, synthesized } = event
  const details = [type, synthesized && 'synthesized', ...kubeEventDetails(event), event.time].filter(Boolean)
  const from = watched.entry === undefined ? [] : [`watched by ${watchPlace ?? `watch[${watched.entry}]`}`]
  return [
    `${paint('bold', shownValue(objectTitle(event)))}  ${shownValue(details.join(' · '), 200)}`,
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
  const shown = messages.filter(({ sink }) => onlySink === undefined || onlySink === sink)
  const reason = REASONS[result.outcome]?.(result, config.to ?? [])
  const announced = shown.length > 0 && ANNOUNCED[result.outcome]?.(result)
  if (reason) lines.push(`  ${paint('warn', announced ? `${reason}; ${announced}:` : reason)}`)
  if (messages.length > 0 && shown.length === 0)
    lines.push(`  ${paint('dim', `nothing of it is for ${onlySink}`)}`)
  let last = { sink: '', text: '' }
  for (const { sink, type, message } of shown) {
    const preview = previewLines(run, message, sink, onlySink === sink ? 'exact' : 'short')
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
  suppressed: ({ limit, silence }) => `suppressed by ${shownValue(silence ?? limit, 300)}`,
  waiting: ({ limit }) =>
    limit === 'for'
      ? 'waits until it has lasted so long'
      : limit === 'debounce'
        ? 'waits until nothing newer comes'
        : 'waits for its digest',
  digested: () => 'sent in a digest with others',
  dropped: () => 'dropped: no rule below sees it',
  taken: (_, to) =>
    to.length === 0
      ? 'sends nothing: it names no sink'
      : `sends nothing: rules above have taken ${to.join(', ')}`,
}

/** What the messages below a reason are. */
const ANNOUNCED: Partial<Record<RuleResult['outcome'], (it: RuleResult) => string>> = {
  suppressed: () => 'without the limit it sends',
  waiting: ({ limit }) => (limit === 'group' ? 'by itself it would send' : 'then it sends'),
  digested: () => 'by itself it would send',
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
