import * as z from 'zod'
import { MOST_WORDS, tooMany } from '../bounds.ts'
import { nearest } from '../nearest.ts'

const WORDS = [
  'rule',
  'object',
  'namespace',
  'name',
  'kind',
  'reason',
  'message',
  'owner',
  'regarding',
  'node',
  'regarding.owner',
] as const
const MAPS = ['labels', 'annotations', 'namespaceLabels', 'regarding.labels'] as const

/** A property of an event that limits count by. */
export type Property =
  | { word: (typeof WORDS)[number] }
  | { word: (typeof MAPS)[number] /** Of the label or annotation. */; key: string }

/** Words of other tools. */
const MEANT: ReadonlyMap<string, string> = new Map([
  ['all', 'rule'],
  ['uid', 'object'],
  ['resource', 'object'],
  ['ns', 'namespace'],
  ['involvedobject', 'regarding'],
  ['pod', 'regarding'],
  ['deployment', 'owner'],
  ['controller', 'owner'],
])

const KEY = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/

/** What a limit can count by, for the descriptions of its keys. */
export const BY_TEXT =
  'rule, object, namespace, name, kind, reason, message, owner, regarding, node, labels.KEY, annotations.KEY, namespaceLabels.KEY, regarding.labels.KEY, regarding.owner; one or a list'

/** What limits count by: `rule` (all of its events together), or one or several properties of the event. */
export const By = z
  .union([
    z.string(),
    z
      .array(z.string())
      .min(1, 'is an empty list: to count all events together write rule')
      .max(MOST_WORDS, tooMany(MOST_WORDS, 'properties')),
  ])
  .superRefine((by, context) => {
    const words = [by].flat()
    const said = new Set<string>()
    for (const [at, word] of words.entries()) {
      const path = typeof by === 'string' ? [] : [at]
      const wrong = said.has(word)
        ? { message: `"${shown(word)}" stands here twice` }
        : (joinedFault(word, typeof by === 'string') ?? faultOf(word))
      said.add(word)
      if (wrong) {
        const { message, ...params } = wrong
        context.addIssue({ code: 'custom', message, path, params })
      }
    }
  })
  .transform((by): readonly string[] => [by].flat())

/** Reads a word of a list that was checked. */
export function propertyOf(text: string): Property {
  const word = MAPS.find((map) => text.startsWith(`${map}.`))
  if (word) return { word, key: text.slice(word.length + 1) }
  return { word: WORDS.find((it) => it === text) ?? 'rule' }
}

interface ByFault {
  message: string
  hint?: string
  offset?: number
  length?: number
}

/** `namespace, reason` as one text. */
function joinedFault(text: string, isAlone: boolean): ByFault | undefined {
  if (!text.includes(',')) return undefined
  const parts = text.split(',').map((part) => part.trim())
  const words = parts.filter((part) => part !== '').map((part) => MEANT.get(part.toLowerCase()) ?? part)
  return isAlone
    ? { message: 'needs a list for more than one', hint: `write [${words.join(', ')}]` }
    : { message: 'is more than one entry', hint: `write ${words.join(', ')}, without quotes` }
}

function faultOf(text: string): ByFault | undefined {
  if (WORDS.some((word) => word === text)) return undefined
  const map = MAPS.find((it) => text.startsWith(`${it}.`))
  if (map) return keyFault(text, map.length + 1)
  const whole = { offset: 0, length: Math.max(text.length, 1) }
  return { message: `"${shown(text)}" is nothing to count by`, hint: hintFor(text), ...whole }
}

function keyFault(text: string, offset: number): ByFault | undefined {
  const key = text.slice(offset)
  if (KEY.test(key)) return undefined
  const kind = text.startsWith('annotations') ? 'annotation' : 'label'
  if (key === '') return { message: `needs the key of a ${kind}`, hint: `such as ${text}team` }
  return { message: `"${shown(key)}" is no key of a ${kind}`, offset, length: key.length }
}

function hintFor(text: string): string {
  const bracket = /^(regarding\.labels|\w+)\[["']?([^\]"']+)["']?\]$/.exec(text)
  if (bracket && MAPS.some((map) => map === bracket[1])) return `write ${bracket[1]}.${bracket[2]}`
  const [root = '', ...rest] = text.split('.')
  const map = rest.length > 0 || MAPS.some((it) => it === text) ? nearest(root, MAPS) : undefined
  if (map !== undefined) return `write ${map}.${rest.length > 0 ? rest.join('.') : 'KEY'}`
  const meant = MEANT.get(text.toLowerCase())
  if (meant === 'regarding') return 'write regarding (the object the Event is about)'
  const near = meant ?? nearest(text, WORDS)
  if (near !== undefined) return `did you mean "${near}"?`
  return `there are ${WORDS.join(', ')}, and ${MAPS.map((it) => `${it}.KEY`).join(', ')}`
}

function shown(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
