import { nearest } from '../../nearest.ts'
import { type Compiled, compiled, type Fault, faulty } from '../fault.ts'

/** A step of a path: a member of a map, an item of a list by its place or by what identifies it, or each of them. */
export type Step =
  | { is: 'member'; key: string }
  | { is: 'place'; place: number }
  | { is: 'item'; key: string; value: string }
  | { is: 'any' }

export interface ValuePath {
  /** As it was written. */
  text: string
  steps: readonly Step[]
}

const MAX_LENGTH = 500
const MAX_STEPS = 30

/**
 * Reads `spec.template.spec.containers.*.image`, `containers[name=app].image`, `metadata.labels["a/b"]`: names and `*` between
 * dots; in brackets a key (in quotes or not), a place, `*`, or `name=value` for an item of a list.
 */
export function parsePath(text: string): Compiled<ValuePath> {
  const habit = habitIn(text)
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

/** Labels and annotations are flat, and their keys have dots. */
function splitKey(text: string, steps: readonly Step[]): ReturnType<typeof faulty> | undefined {
  const keys = steps.map((step) => (step.is === 'member' ? step.key : ''))
  const [top, map = '', ...rest] = keys
  if (top !== 'metadata' || !/^(labels|annotations)$/.test(map) || rest.length < 2 || rest.includes(''))
    return undefined
  return faulty('has a key with dots, which needs brackets', {
    ...whole(text),
    hint: `write metadata.${map}["${rest.join('.')}"]`,
  })
}

type Read = { step: Step; end: number } | { ok: false; faults: Fault[] }

function habitIn(text: string): ReturnType<typeof faulty> | undefined {
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
      hint: `write [${parts.join(', ')}]`,
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

/** For a hint that has all of the path. */
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
      hint: 'steps stand between dots: spec.replicas',
    })
  if (name === '') {
    const what = text[start]
    const meant = text.replaceAll(/\.{2,}/g, '.').replace(/\.$/, '')
    if ((what === undefined || what === '.') && /^\w[\w.*-]*$/.test(meant))
      return faulty(what === undefined ? 'ends with a "."' : 'has two dots without a name between them', {
        ...whole(text),
        hint: `write ${meant}`,
      })
    const hint =
      what === undefined || what === '.'
        ? 'a name is missing between two dots, or at an end'
        : 'a key with special characters stands in brackets and quotes: labels["a/b"]'
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
        hint: '"*" stands alone: containers.*.image',
      })
    return { step: { is: 'any' }, end }
  }
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

/** The bracket that closes, outside of quotes. */
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

/** Objects may have any top-level key, but nearly all that people follow lie under these. */
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
        hint: `write ${place}${text.slice(first.key.length)}`,
      })
}

/** Where fields are that people write without what is before them. */
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
