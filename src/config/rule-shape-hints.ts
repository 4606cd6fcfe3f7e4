import type { ConfigDocument, Path } from './document.ts'
import { labelsHint, severityHint } from './label-hints.ts'
import type { Located } from './located.ts'
import { withinRule } from './rule-words.ts'
import { type ShapeHint, wordIn } from './shape-hint.ts'
import { asText } from './yaml/text.ts'

const YES = /^(true|yes|y|on|1)$/i
const NO = /^(false|no|n|off|0)$/i
const SPAN = /^\d{1,6}(ms|s|m|h|d)$/

/** What to write for a value of a rule that has the wrong shape. */
export function ruleShapeHint(path: Path, found: Located, document: ConfigDocument): ShapeHint {
  const [key, ...rest] = withinRule(path) ?? []
  if (typeof key !== 'string') return {}
  if (key === 'when') return { hint: whenHint(rest, found) }
  const rule = path.slice(0, path.length - 1 - rest.length)
  if (rest.length === 1 && (key === 'to-state' || key === 'from') && found.entries) {
    const isAlone = document.at([...rule, key])?.entries?.size === 1
    return { hint: wholePaths(key, String(rest[0]), found, isAlone), atKey: true }
  }
  if (rest.length > 0) return {}
  if (found.entries && (key === 'changed' || key === 'unchanged'))
    return {
      ...pathsHint(key, found, document.at([...rule, 'to-state']) !== undefined),
      message: `"${key}" takes paths, without values`,
    }
  if (key === 'labels') return labelsHint(found, document.at([...rule, 'when']))
  if (key === 'severity') return severityHint(found, document.at([...rule, 'when']))
  return { hint: topHint(key, found) }
}

function topHint(key: string, found: Located): string | undefined {
  const text = wordIn(found)
  const isSpan = text !== undefined && SPAN.test(text)
  const one = text ?? (found.items?.length === 1 ? wordIn(found.items[0]) : undefined)
  switch (key) {
    case 'throttle':
      return `write throttle: { every: ${isSpan ? text : '10m'} }`
    case 'after':
      return afterHint(text, isSpan)
    case 'count':
      return text && /^\d+$/.test(text)
        ? `write count: [${text}] (told at the ${ordinal(text)} alone) or count: { every: ${text} } (at each ${ordinal(text)})`
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
        ? conditionsHint(found.items)
        : `write condition: { type: ${text ?? 'Ready'}, becomes: "False" } (or "True")`
    case 'to-state':
    case 'from':
      return found.entries ? undefined : `name the path, too: ${key}: { status.phase: ${text ?? 'Failed'} }`
    case 'changed':
    case 'unchanged':
      return `name paths, such as ${key}: [spec.replicas]`
    case 'if':
      return found.items
        ? joinedHint(found.items)
        : 'write what must be true, such as if: object.spec.replicas > 3'
    case 'continue':
      return booleanHint(text)
  }
  return undefined
}

function afterHint(text: string | undefined, isSpan: boolean): string {
  const count = text && /^\d+$/.test(text) ? text : undefined
  const chosen = isSpan ? '3: choose the number' : count ? '10m: choose the time' : 'choose number and time'
  return `write after: { count: ${count ?? 3}, within: ${isSpan ? text : '10m'} } (${chosen})`
}

/** Each as it can stand in a rule. */
function conditionsHint(items: readonly Located[]): string {
  const each = items.map(conditionIn)
  const isShown = each.length > 0 && each.length <= 4 && each.every((it) => it !== undefined)
  if (!isShown) return 'a rule follows one condition: write a rule for each, with a name of its own'
  const [first] = each
  return each.length === 1
    ? `write ${first}`
    : `a rule follows one condition: write a rule for each, with a name of its own, one with ${each.join(', one with ')}`
}

function conditionIn({ entries }: Located): string | undefined {
  const parts = [...(entries ?? [])].map(([key, { value }]) => {
    const word = wordIn(value)
    const isText = word !== undefined && value.source === undefined && /^(true|false)$/i.test(word)
    return word === undefined ? undefined : `${inFlow(key)}: ${isText ? `"${word}"` : word}`
  })
  const isShown = parts.length > 0 && parts.every((it) => it !== undefined)
  return isShown ? `condition: { ${parts.join(', ')} }` : undefined
}

/** The entries of a list as one expression. */
function joinedHint(items: readonly Located[]): string {
  const texts = items.map(({ value, written }) => (written === undefined ? value : undefined))
  const joined = texts.map((it) => `(${String(it)})`).join(' && ')
  const isShown = texts.every((it) => typeof it === 'string' && !it.includes('\n')) && joined.length <= 200
  return isShown
    ? `write if: ${asText(joined)}, with || where one is enough`
    : 'join them in one text: (…) && (…) where all must hold, || where one is enough'
}

function whenHint([key, ...rest]: Path, found: Located): string | undefined {
  if (rest.length === 0 && key === 'owner' && found.entries)
    return `write owner: ${ownerIn(found)}${OWNERS_TOO}`
  if (rest.length === 0 && key === 'synthesized') return booleanHint(wordIn(found))
  if (rest.length === 0 && key === 'regarding' && !found.entries) {
    const [kind = 'Pod', ...name] = (wordIn(found) ?? 'Pod').split('/')
    return `write regarding: { kind: ${kind}${name.length > 0 ? `, name: ${name.join('/')}` : ''} }`
  }
  if (rest.length === 1 && key === 'regarding' && rest[0] === 'owner' && found.entries)
    return `write owner: ${ownerIn(found)}${OWNERS_TOO}`
  return undefined
}

const OWNERS_TOO = " (the owner's owner counts, too)"

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

/** Paths with values: what they become, or that they change. */
function pathsHint(key: string, { entries = new Map() }: Located, hasState: boolean): ShapeHint {
  const names = [...entries.keys()]
  const [name = '', value] = [names[0], wordIn(entries.get(names[0] ?? '')?.value)]
  if (names.length === 1 && value !== undefined && /^(path|field)s?$/.test(name))
    return { hint: `write ${key}: [${value}]` }
  const list = `${key}: [${names.map(inFlow).join(', ')}]`
  const values = names.map((it) => wordIn(entries.get(it)?.value))
  if (key === 'unchanged' || hasState || !values.every((it) => it !== undefined))
    return { hint: `write ${list}; a value that something gets stands in "to-state"` }
  const state = names.map((it, at) => `${inFlow(it)}: ${values[at]}`).join(', ')
  const becomes = names.length === 1 ? `it becomes ${values[0]}` : 'all becomes so'
  return {
    hint: `for when ${becomes} write to-state: { ${state} }; for any change write ${list}`,
    atKey: true,
  }
}

/** `{ status: { phase: Failed } }` as a path and its value. */
function wholePaths(key: string, top: string, found: Located, isAlone: boolean): string {
  const leaves = leavesOf(top, found)
  const isShown = leaves.length > 0 && leaves.length <= 4
  const text = isShown ? leaves.map(([path, value]) => `${inFlow(path)}: ${value}`).join(', ') : `${top}.…: …`
  return isAlone ? `write the whole path: ${key}: { ${text} }` : `write the whole path: ${text}`
}

const MOST_STEPS = 10

function leavesOf(path: string, { entries, items, ...found }: Located, depth = 0): [string, string][] {
  if (depth > MOST_STEPS) return []
  if (entries)
    return [...entries].slice(0, 5).flatMap(([key, { value }]) => {
      const step = /^[A-Za-z][\w-]*$/.test(key) ? `.${key}` : `["${key}"]`
      return leavesOf(path + step, value, depth + 1)
    })
  const words = items?.map(wordIn)
  if (words) return words.every((it) => it !== undefined) ? [[path, `[${words.join(', ')}]`]] : [[path, '…']]
  return [[path, wordIn(found) ?? '…']]
}

/** As it can stand inside `{ }` and `[ ]`. */
function inFlow(text: string): string {
  return /^[\w$/][\w.*$/-]*$/.test(text) ? text : text.includes('"') ? `'${text}'` : `"${text}"`
}

function ordinal(number: string): string {
  const end = /1\d$/.test(number) ? '' : number.slice(-1)
  return number + (end === '1' ? 'st' : end === '2' ? 'nd' : end === '3' ? 'rd' : 'th')
}
