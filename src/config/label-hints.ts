import type { Located } from './located.ts'
import { type ShapeHint, wordIn } from './shape-hint.ts'

/** Labels to send along, or a selector in the wrong place. */
export function labelsHint(found: Located, when: Located | undefined): ShapeHint {
  const label = labelIn(found)
  const text = typeof found.value === 'string' && found.written === undefined ? found.value : ''
  if (!/^[\w./-]+\s*(=|!=| in | notin )/.test(text)) return { hint: `write labels: ${label}` }
  const selector = /[,()! ]/.test(text) ? JSON.stringify(text) : text
  const kind = wordIn(when?.entries?.get('kind')?.value)
  const isEvent = kind === 'Event'
  const asked = isEvent ? `regarding: { labels: ${selector} }` : `labels: ${selector}`
  const isPlain = !when || (kind !== undefined && when.entries?.size === 1)
  const rest = isPlain ? (kind === undefined ? '' : `kind: ${kind}, `) : '…, '
  const send = text.includes('=') && !text.includes('!') ? `labels: ${label}` : 'labels: { team: shop }'
  return {
    hint: `to select by labels leave "labels" out and write when: { ${rest}${asked} }; to send a label along write ${send}`,
    atKey: true,
  }
}

function labelIn(found: Located): string {
  const [first = found] = found.items ?? []
  const text = typeof first.value === 'string' && first.written === undefined ? first.value : ''
  const [, key, value] = /^([A-Za-z0-9._-]{1,63})[=:] ?([A-Za-z0-9._-]{1,63})$/.exec(text) ?? []
  return key === undefined ? '{ team: shop }' : `{ ${key}: ${value} }`
}

const SEVERITIES: readonly (readonly [RegExp, string])[] = [
  [/^(critical|crit|fatal|emerg(ency)?|alert|page|high|danger)$/i, 'error'],
  [/^(warn|medium|moderate)$/i, 'warning'],
  [/^(information|informational|notice|debug|low|normal|ok|none)$/i, 'info'],
]

export function severityHint(found: Located, when: Located | undefined): ShapeHint {
  if (found.items) {
    const one = severityOf(wordIn(found.items[0])) ?? 'error'
    const kind = wordIn(when?.entries?.get('kind')?.value)
    const isOfEvents = kind === undefined || kind === 'Event'
    if (!isOfEvents) return { hint: `write severity: ${one} (a rule gives one)` }
    const isPlain = !when || (kind !== undefined && when.entries?.size === 1)
    const filter = isPlain ? 'write when: { kind: Event, type: Warning }' : 'add type: Warning to "when"'
    const hint = `to get only Warnings leave "severity" out and ${filter}; to give what it sends one severity write severity: ${one}`
    return { hint, atKey: true }
  }
  if (typeof found.value === 'string' && /\{[{%]/.test(found.value))
    return { hint: 'a template of it stands in message: { severity: "{{ … }}" }' }
  const word = severityOf(wordIn(found))
  if (word === undefined) return {}
  return { hint: word === 'error' ? 'write error, which is the highest' : `write ${word}` }
}

function severityOf(text = ''): string | undefined {
  if (/^(error|warning|info)$/.test(text)) return text
  return SEVERITIES.find(([words]) => words.test(text))?.[1]
}
