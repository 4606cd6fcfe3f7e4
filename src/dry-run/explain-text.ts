import { isEventKind } from '../rules/kind.ts'
import type { DryRun, RuleFate } from './dry-run.ts'
import type { ExplainedRule, Explanation } from './explain-event.ts'
import type { Asked } from './explain-rule.ts'
import { limitWords } from './limit-words.ts'
import type { Paint } from './paint.ts'
import { shownValue } from './shown-value.ts'
import { toldLines } from './told-lines.ts'

export interface ExplainTextOptions {
  paint: Paint
  /** Rules for other kinds, too. */
  all?: boolean | undefined
  /** Of this rule alone. */
  rule?: string | undefined
  /** What this sink is sent, in full, and no other. */
  sink?: string | undefined
  /** Why the change is of this type, when nobody said so. */
  typeNote?: string | undefined
}

/** An explanation as lines for people: the event, each rule with what it asked and saw, and what becomes of it. */
export function explainText(run: DryRun, it: Explanation, options: ExplainTextOptions): string {
  const { all, rule } = options
  const shown = it.rules.filter(
    ({ rule: name, verdict }) => rule === name || (rule === undefined && (all || verdict !== 'other-kind')),
  )
  const hidden = rule === undefined ? it.rules.filter((other) => !shown.includes(other)) : []
  const parts = [
    headLines(it, options),
    ...shown.map((rule) => ruleLines(run, rule, options)),
    otherLines(hidden, options),
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
  const words = [type, synthesized && 'synthesized', eventWords(event), event.time].filter(Boolean)
  const from = watched.entry === undefined ? [] : [`watched by ${watchPlace ?? `watch[${watched.entry}]`}`]
  return [
    `${paint('bold', shownValue(title))}  ${shownValue(words.join(' · '), 200)}`,
    ...[...from, ...(typeNote === undefined ? [] : [typeNote])].map((line) => `  ${paint('dim', line)}`),
  ]
}

function eventWords({ event, resource }: Explanation['event']): string {
  if (!event || !isEventKind(resource)) return ''
  const { type, reason, regarding, count } = event
  const about = [regarding.kind, regarding.name].filter(Boolean).join(' ')
  return [`${type} ${reason}`.trim(), about && `about ${about}`, count > 1 && `${count} times`]
    .filter(Boolean)
    .join(' · ')
}

function ruleLines(run: DryRun, explained: ExplainedRule, options: ExplainTextOptions): string[] {
  const { paint } = options
  const { rule, place, verdict, asked, fate } = explained
  const isMatch = verdict === 'matches'
  const head = isMatch ? paint('good', `✓ ${rule}`) : verdict === 'not-asked' ? `- ${rule}` : `✗ ${rule}`
  const note = verdict === 'not-asked' ? '  not asked: a rule above has ended it' : ''
  const lines = [`${isMatch ? head : paint('bold', head)}${note}${place ? `  ${paint('dim', place)}` : ''}`]
  if (verdict === 'not-asked') return lines
  lines.push(...askedLines(asked, options))
  if (fate?.fate === 'failed')
    lines.push(`  ${paint('bad', `it failed, and so does not match: ${shownValue(fate.error, 300)}`)}`)
  if (fate && isMatch) lines.push(...fateLines(run, explained, fate, options))
  return lines
}

function askedLines(asked: readonly Asked[], { paint }: ExplainTextOptions): string[] {
  if (asked.length === 0) return [`  ${paint('good', '✓')} asks nothing: every event matches`]
  const names = Math.max(...asked.map(({ name }) => name.length))
  const shown = asked.map((it) => shownValue(it.expected, 60))
  const wide = Math.min(40, Math.max(...shown.map((it) => it.length)))
  return asked.map(({ name, seen, holds, error }, i) => {
    const expected = (shown[i] as string).padEnd(wide)
    const saw = error === undefined ? `seen: ${shownValue(seen, 80)}` : `failed: ${shownValue(error, 200)}`
    if (holds)
      return `  ${paint('good', '✓')} ${name.padEnd(names)}  ${expected}  ${paint('dim', saw)}`.trimEnd()
    return `  ${paint('deciding', `✗ ${name.padEnd(names)}  ${expected}  ${saw}`)}`
  })
}

function fateLines(
  run: DryRun,
  { rule, messages }: ExplainedRule,
  fate: RuleFate,
  options: ExplainTextOptions,
): string[] {
  const { paint, sink: wanted } = options
  const config = run.generation.config.rules.find(({ name }) => name === rule)
  const limits = fate.fate === 'dropped' ? [] : limitWords(config ?? {})
  const lines = limits.map(({ name, words }) => `  ${paint('info', `limit ${name}`)}  ${words}`)
  const word = FATES[fate.fate]?.(fate, config?.to ?? [])
  if (word) lines.push(`  ${paint('warn', word)}`)
  let last = { sink: '', text: '' }
  for (const { sink, type, message } of messages) {
    if (wanted !== undefined && wanted !== sink) continue
    const { target, lines: told, fault } = toldLines(run, message, sink, wanted === sink)
    const arrow = fate.fate === 'sent' ? '→' : '⇢'
    lines.push(
      `  ${paint('good', `${arrow} ${sink}`)} ${paint('dim', `${type}${target ? `, ${target}` : ''}`)}`,
    )
    const text = told.join('\n')
    lines.push(
      ...(text !== '' && text === last.text
        ? [`      (the same as ${last.sink})`]
        : told.map((line) => `      ${line}`)),
    )
    if (text !== last.text) last = { sink, text }
    if (fault !== undefined)
      lines.push(`      ${paint('bad', `cannot be rendered, so it would be a dead letter: ${fault}`)}`)
  }
  return lines
}

const FATES: Partial<Record<RuleFate['fate'], (fate: RuleFate, to: readonly string[]) => string>> = {
  held: ({ limit }) => `held back by ${limit}; what it would send else:`,
  waits: ({ limit }) =>
    limit === 'for'
      ? 'waits until it has lasted so long; then it sends:'
      : 'waits for its digest; by itself it would send:',
  digested: () => 'told in a digest with others; by itself it would send:',
  dropped: () => 'dropped: no rule below sees it',
  taken: (_, to) =>
    to.length === 0
      ? 'sends nothing: it names no sink'
      : `sends nothing: rules above have taken ${to.join(', ')}`,
}

function otherLines(hidden: readonly ExplainedRule[], { paint }: ExplainTextOptions): string[] {
  if (hidden.length === 0) return []
  const names = hidden.slice(0, 6).map(({ rule }) => rule)
  const more = hidden.length > names.length ? ` and ${hidden.length - names.length} more` : ''
  const rules = hidden.length === 1 ? '1 rule is' : `${hidden.length} rules are`
  return [paint('dim', `- ${rules} for other kinds: ${names.join(', ')}${more} (--all shows them)`)]
}

function verdictLines({ event, watched, rules, fate }: Explanation, { paint }: ExplainTextOptions): string[] {
  const lines: string[] = []
  if (watched.entry === undefined) lines.push(paint('warn', unwatched(event.kind, watched.kinds)))
  const sent = new Map<string, string[]>()
  for (const { delivery } of fate.sent)
    sent.set(delivery.rule, [...(sent.get(delivery.rule) ?? []), delivery.sink])
  const would = watched.entry === undefined ? 'would be sent if it were watched' : 'is sent'
  for (const [rule, sinks] of sent) lines.push(paint('good', `→ ${would} to ${sinks.join(', ')} by ${rule}`))
  for (const { rule, limit, fate: it } of fate.rules) {
    if (it === 'held') lines.push(paint('warn', `⏸ ${rule} matches, and its ${limit} holds this one back`))
    if (it === 'waits') lines.push(paint('warn', `⏸ ${rule} matches, and waits ${waitsFor(limit)}`))
    if (it === 'dropped') lines.push(paint('warn', `■ dropped by ${rule}`))
  }
  if (lines.length > 0) return lines
  const matches = rules.some(({ verdict }) => verdict === 'matches')
  return [paint('warn', matches ? '∅ is sent nowhere' : '∅ is sent nowhere: no rule matches')]
}

function waitsFor(limit: string | undefined): string {
  return limit === 'for' ? 'if it lasts' : `for its ${limit}`
}

function unwatched(kind: string, misses: readonly { key: string; expected: string; seen: string }[]): string {
  const [first] = misses
  if (!first) return `! rules never see it: no entry of "watch" is for ${shownValue(kind)}`
  const { key, expected, seen } = first
  return `! rules never see it: "watch" has ${shownValue(kind)} with ${key} ${shownValue(expected)}, and this has ${shownValue(seen)}`
}
