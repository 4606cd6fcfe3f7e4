import { nearest } from '../text/closest-match.ts'
import { type Compiled, compiled, type Fault, faulty } from './fault.ts'

/** A step of a path: a member of a map, an item of a list by its index or by a key's value, or all of them. */
export type Step =
  | { is: 'member'; key: string }
  | { is: 'place'; place: number }
  | { is: 'item'; key: string; value: string }
  | { is: 'any' }

export interface ValuePath {
  /** As in the configuration. */
  text: string
  steps: readonly Step[]
}

/** What a path is in the configuration: the value of a key, an entry of a list, or a key. */
type Place = keyof typeof SEVERAL

const SEVERAL = {
  value: (parts: readonly string[]) => `write [${parts.join(', ')}]`,
  entry: (parts: readonly string[]) => `write an entry for each: ${parts.join(', ')}`,
  key: () => 'write a key for each',
}

const MAX_LENGTH = 500
const MAX_STEPS = 30

/**
 * Parses `spec.template.spec.containers.*.image`, `containers[name=app].image`, `metadata.labels["a/b"]`: names, indexes and `*`
 * between dots; in brackets a key (quoted or not), an index, `*`, or `name=value` for an item of a list.
 */
export function parsePath(text: string, place: Place = 'value'): Compiled<ValuePath> {
  const habit = habitIn(text, place)
  if (habit) return habit
  if (text.length > MAX_LENGTH) return faulty(`is longer than ${MAX_LENGTH} characters`)
  const steps: Step[] = []
  for (let at = 0; at < text.length; ) {
    const dot = at > 0 && text[at] === '.' ? 1 : 0
    const read = text[at] === '[' ? readBracket(text, at) : readName(text, at + dot, at > 0 && dot === 0)
    if ('faults' in read) return read
    steps.push(read.step)
    at = read.end
  }
  if (steps.length > MAX_STEPS) return faulty(`has more than ${MAX_STEPS} steps`)
  return splitKey(text, steps) ?? unknownTop(text, steps) ?? compiled({ text, steps })
}

/** Labels and annotations are flat maps, and their keys contain dots. */
function splitKey(text: string, steps: readonly Step[]): ReturnType<typeof faulty> | undefined {
  const keys = steps.map((step) => {
    if (step.is === 'place' && !text.includes('[')) return String(step.place)
    return step.is === 'member' ? step.key : ''
  })
  const [top, map = '', ...rest] = keys
  if (top !== 'metadata' || !/^(labels|annotations)$/.test(map) || rest.length < 2 || rest.includes(''))
    return undefined
  return faulty('has a key with dots, which needs brackets', {
    ...whole(text),
    hint: `write metadata.${map}["${rest.join('.')}"]`,
  })
}

type Read = { step: Step; end: number } | { ok: false; faults: Fault[] }

function habitIn(text: string, place: Place): ReturnType<typeof faulty> | undefined {
  if (text === '') return faulty('is empty', { hint: 'write a path, such as spec.replicas' })
  if (text.includes('**')) {
    const isEnd = /^[\w.]+\.\*\*$/.test(text)
    return faulty('has a step "**", which paths do not have', {
      ...(isEnd ? whole(text) : { offset: text.indexOf('**'), length: 2 }),
      hint: isEnd
        ? `write ${text.slice(0, -3)} (all that is below it counts)`
        : 'write each step, such as spec.containers.*.image ("*" is any key or item)',
    })
  }
  const parts = text.split(',').map((it) => it.trim())
  if (parts.length > 1 && parts.every((part) => /^[A-Za-z][\w.*-]*$/.test(part)))
    return faulty(`is one path here, and ${parts.length === 2 ? 'two' : 'several'} are a list`, {
      hint: SEVERAL[place](parts),
    })
  const bare = text
    .replace(/^\{|\}$/g, '')
    .trim()
    .replace(/^\$?\.|^\//, '')
  const dotted = bare.replaceAll('/', '.')
  if (/^\//.test(text)) return faulty('begins with "/"', { ...whole(text), hint: `write ${dotted}` })
  if (/^(\{|\$|\.)/.test(text))
    return faulty(`begins with "${text[0]}"`, { ...whole(text), hint: `write ${bare}` })
  const root = /^(object|oldObject)\./.exec(text)?.[1]
  if (root)
    return faulty(`begins with "${root}"`, {
      ...whole(text),
      hint: `write ${text.slice(root.length + 1)} (paths begin in the object)`,
    })
  return undefined
}

function whole(text: string): { offset: number; length: number } {
  return { offset: 0, length: Math.max(text.length, 1) }
}

function readName(text: string, start: number, isGlued: boolean): Read {
  const name = /^(?:\*|[^.[\]"'\s*=]+)/.exec(text.slice(start))?.[0] ?? ''
  const end = start + name.length
  if (isGlued)
    return faulty('has no "." here', {
      offset: start,
      length: 1,
      hint: 'separate steps by dots: spec.replicas',
    })
  if (name === '') {
    const what = text[start]
    const clean = text.replaceAll(/\.{2,}/g, '.').replace(/\.$/, '')
    if ((what === undefined || what === '.') && /^\w[\w.*-]*$/.test(clean))
      return faulty(what === undefined ? 'ends with a "."' : 'has two dots without a name between them', {
        ...whole(text),
        hint: `write ${clean}`,
      })
    const hint =
      what === undefined || what === '.'
        ? 'a name is missing between two dots, or at an end'
        : 'write a key with special characters in brackets and quotes: labels["a/b"]'
    return faulty(what === undefined ? 'ends with a "."' : `has "${what}" where a name is expected`, {
      offset: Math.min(start, text.length - 1),
      length: 1,
      hint,
    })
  }
  if (name.includes('*') || text[end] === '*') {
    if (name !== '*' || (end < text.length && !/[.[]/.test(text[end] as string)))
      return faulty('has "*" within a name', {
        offset: start,
        length: name.length,
        hint: '"*" is a step of its own: containers.*.image',
      })
    return { step: { is: 'any' }, end }
  }
  // `containers.0.image`: an index, as in a JSON pointer; of a map, the key.
  if (/^(?:0|[1-9]\d{0,8})$/.test(name)) return { step: { is: 'place', place: Number(name) }, end }
  return { step: { is: 'member', key: name }, end }
}

function readBracket(text: string, open: number): Read {
  const rest = text.slice(open + 1)
  const quoted = /^(["'])((?:\\.|(?!\1)[^\\])*)\1\]/s.exec(rest)
  if (quoted)
    return { step: { is: 'member', key: unquoted(quoted[2] as string) }, end: open + 1 + quoted[0].length }
  const close = closeOf(rest)
  if (close === -1) return faulty('has a "[" without its "]"', { offset: open, length: 1 })
  const inner = rest.slice(0, close)
  const end = open + close + 2
  if (inner === '*') return { step: { is: 'any' }, end }
  if (/^\d{1,9}$/.test(inner)) return { step: { is: 'place', place: Number(inner) }, end }
  const [, key = '', value = ''] = /^\s*@?\.?([A-Za-z_][\w.-]*)\s*={1,2}\s*(.*)$/s.exec(inner.trimEnd()) ?? []
  if (key !== '') {
    const plain = /^(["'])(.*)\1$/s.exec(value)?.[2]
    if (value === '')
      return faulty(`has nothing behind "${key}="`, {
        offset: open,
        length: inner.length + 2,
        hint: `write [${key}=app]`,
      })
    return { step: { is: 'item', key, value: plain === undefined ? value : unquoted(plain) }, end }
  }
  if (inner === '' || /[?()"'@\s]/.test(inner))
    return faulty(`has "[${inner}]", which is no step`, {
      offset: open,
      length: inner.length + 2,
      hint: 'write [name=app], ["a/b"], [0] or [*]',
    })
  return { step: { is: 'member', key: inner }, end }
}

/** Returns the index of the closing bracket outside of quotes; -1 without one. */
function closeOf(text: string): number {
  let quote = ''
  for (let i = 0; i < text.length; i++) {
    const char = text[i] as string
    if (quote !== '') quote = char === quote ? '' : quote
    else if (char === '"' || char === "'") quote = char
    else if (char === ']') return i
  }
  return -1
}

function unquoted(text: string): string {
  return text.replaceAll(/\\(.)/gs, '$1')
}

/** Objects can have other top-level keys, but nearly all paths start with these. */
const TOP = ['metadata', 'spec', 'status', 'data']

function unknownTop(text: string, [first]: readonly Step[]): ReturnType<typeof faulty> | undefined {
  if (first?.is !== 'member' || TOP.includes(first.key) || !/^[A-Za-z]+$/.test(first.key)) return undefined
  const near = nearest(first.key, TOP, first.key.length > 4 ? 2 : 1)
  if (near)
    return faulty(`begins with "${first.key}"`, {
      offset: 0,
      length: first.key.length,
      hint: `did you mean "${near}"?`,
    })
  const place = Object.hasOwn(WELL_KNOWN, first.key) ? WELL_KNOWN[first.key] : undefined
  return place === undefined
    ? undefined
    : faulty(`begins with "${first.key}", which no object has at its top`, {
        ...whole(text),
        hint: `write ${place}${text.slice(first.key.length)}${/^spec\.containers/.test(place) ? ' (of a workload below spec.template)' : ''}`,
      })
}

/** The full paths of fields that are often written without their parents. */
const WELL_KNOWN: Readonly<Partial<Record<string, string>>> = {
  labels: 'metadata.labels',
  annotations: 'metadata.annotations',
  finalizers: 'metadata.finalizers',
  deletionTimestamp: 'metadata.deletionTimestamp',
  replicas: 'spec.replicas',
  template: 'spec.template',
  containers: 'spec.containers',
  image: 'spec.containers.*.image',
  conditions: 'status.conditions',
  phase: 'status.phase',
  containerStatuses: 'status.containerStatuses',
}
