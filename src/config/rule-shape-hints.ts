import type { Path } from './document.ts'
import type { Located } from './located.ts'
import { withinRule } from './rule-words.ts'

const YES = /^(true|yes|y|on|1)$/i
const NO = /^(false|no|n|off|0)$/i
const SPAN = /^\d{1,6}(ms|s|m|h|d)$/

/** What to write for a value of a rule that has the wrong shape. */
export function ruleShapeHint(path: Path, found: Located): string | undefined {
  const [key, ...rest] = withinRule(path) ?? []
  if (typeof key !== 'string') return undefined
  if (key === 'when') return whenHint(rest, found)
  if (rest.length === 1 && (key === 'to-state' || key === 'from') && found.entries) {
    const [inner = '…'] = found.entries.keys()
    return `write the whole path: ${key}: { ${String(rest[0])}.${inner}: … }`
  }
  return rest.length === 0 ? topHint(key, found) : undefined
}

function topHint(key: string, found: Located): string | undefined {
  const text = wordIn(found)
  const isSpan = text !== undefined && SPAN.test(text)
  const one = text ?? (found.items?.length === 1 ? wordIn(found.items[0]) : undefined)
  switch (key) {
    case 'throttle':
      return `write throttle: { every: ${isSpan ? text : '10m'} }`
    case 'after':
      return `write after: { count: ${text && /^\d+$/.test(text) ? text : 3}, within: ${isSpan ? text : '10m'} }`
    case 'count':
      return text && /^\d+$/.test(text)
        ? `write count: [${text}], or { every: ${text} } for each ${text}th`
        : 'write the counts that are told: count: [1, 10, 100], or { at: [1], every: 10 }'
    case 'group':
      return `write group: { by: ${byIn(found, one)} }`
    case 'resolve':
      if (isSpan) return `write resolve: { after: ${text} }`
      return booleanHint(text) ?? 'write true, or { after: 15m } for Events'
    case 'mute':
      return `write mute: ${windowIn(found)}`
    case 'condition':
      return found.items
        ? 'a rule follows one condition: write a rule for each'
        : `write condition: { type: ${text ?? 'Ready'}, becomes: "False" }`
    case 'to-state':
    case 'from':
      return found.entries ? undefined : `name the path, too: ${key}: { status.phase: ${text ?? 'Failed'} }`
    case 'changed':
    case 'unchanged':
      return found.entries
        ? `write paths, without values: ${key}: [${[...found.entries.keys()].join(', ')}]; a value that it gets: to-state`
        : `name paths, such as ${key}: [spec.replicas]`
    case 'if':
      return found.items
        ? 'join them in one text: (…) && (…) where all must hold, || where one is enough'
        : 'write what must be true, such as if: object.spec.replicas > 3'
    case 'labels':
      return `write labels: ${labelIn(found)}`
    case 'severity':
      return severityHint(found)
    case 'continue':
      return booleanHint(text)
  }
  return undefined
}

function whenHint([key, ...rest]: Path, found: Located): string | undefined {
  if (rest.length === 0 && key === 'owner' && found.entries) return `write owner: ${ownerIn(found)}`
  if (rest.length === 0 && key === 'synthesized') return booleanHint(wordIn(found))
  if (rest.length === 0 && key === 'regarding' && !found.entries) {
    const [kind = 'Pod', ...name] = (wordIn(found) ?? 'Pod').split('/')
    return `write regarding: { kind: ${kind}${name.length > 0 ? `, name: ${name.join('/')}` : ''} }`
  }
  if (rest.length === 1 && key === 'regarding' && rest[0] === 'owner' && found.entries)
    return `write owner: ${ownerIn(found)}`
  return undefined
}

function booleanHint(text = ''): string | undefined {
  return YES.test(text) ? 'write true' : NO.test(text) ? 'write false' : undefined
}

function ownerIn({ entries }: Located): string {
  const kind = wordIn(entries?.get('kind')?.value) ?? 'Deployment'
  const name = wordIn(entries?.get('name')?.value)
  return name === undefined ? kind : `${kind}/${name}`
}

function byIn({ items }: Located, one: string | undefined): string {
  if (!items) return one !== undefined && /^[a-z]/i.test(one) ? one : 'namespace'
  const words = items.map(wordIn)
  return words.every((word) => word !== undefined) ? `[${words.join(', ')}]` : '[namespace, reason]'
}

function windowIn({ value, written }: Located): string {
  const text = typeof value === 'string' && written === undefined ? value : ''
  const [, from = '22:00', to = '07:00'] = /^\s*(\d\d?:\d\d)\s*(?:-|–|to)\s*(\d\d?:\d\d)\s*$/.exec(text) ?? []
  return `{ from: "${from}", to: "${to}" }`
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

function severityHint(found: Located): string | undefined {
  if (found.items) return 'one for the rule; Warnings only are when: { kind: Event, type: Warning }'
  if (typeof found.value === 'string' && /\{[{%]/.test(found.value))
    return 'a template of it stands in message: { severity: "{{ … }}" }'
  const text = wordIn(found) ?? ''
  const word = SEVERITIES.find(([words]) => words.test(text))?.[1]
  return word === undefined ? undefined : `write ${word}`
}

/** A word or number that stands so in the file, and may be shown: no secret looks like it. */
function wordIn(found: Located | undefined): string | undefined {
  if (!found || found.written !== undefined) return undefined
  const text = found.source ?? (typeof found.value === 'string' ? found.value : '')
  return /^[A-Za-z0-9*][A-Za-z0-9.*/_-]{0,62}$/.test(text) ? text : undefined
}
