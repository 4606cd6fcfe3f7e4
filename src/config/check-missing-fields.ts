import { pathsInExpression } from '../rules/cel/paths-in.ts'
import type { ConfigDocument } from './document.ts'
import type { Draft } from './draft.ts'
import type { Problem } from './problem.ts'

const KEY = /^metadata\.(labels|annotations)(?:\.(\w+)|\[(["'])([^"']+)\3\])$/

/** The API server leaves them out while they are 0. */
const COUNTER =
  /^status\.(readyReplicas|availableReplicas|updatedReplicas|unavailableReplicas|numberAvailable|numberUnavailable|updatedNumberScheduled|active|ready|succeeded|failed)$/

/** What an `if` reads and does not ask for first, though not every object has it: without it the rule ends in an error. */
export function checkMissingFields({ rules }: Draft, document: ConfigDocument): Problem[] {
  return rules.flatMap(({ index, if: text, onError }) => {
    if (text === undefined || onError === 'deliver' || !/labels|annotations|status/.test(text)) return []
    const told = new Set<string>()
    const read = pathsInExpression(text).flatMap(({ path, offset, root }) => {
      const doubt = told.has(path)
        ? undefined
        : (keyDoubt(path, text, text.slice(offset + path.length)) ?? counterDoubt(path, text))
      if (!doubt) return []
      told.add(path)
      return [{ ...doubt, offset: root, length: offset + path.length - root }]
    })
    return [...read, ...askedWithoutMap(text)].map(({ message, ...placing }) =>
      document.problem(['rules', index, 'if'], message, { ...placing, severity: 'warning' }),
    )
  })
}

function keyDoubt(path: string, text: string, behind: string) {
  const [, map, name, , quoted] = KEY.exec(path) ?? []
  const key = name ?? quoted
  if (map === undefined || key === undefined || isAskedFor(text, map)) return undefined
  const [, , value = '…'] = /^\s*==\s*(["'])([\w.-]+)\1/.exec(behind) ?? []
  const optional = `object.metadata.?${map}${name === undefined ? `[?"${key}"]` : `.?${key}`}.orValue("")`
  return {
    message: `not every object has this ${map === 'labels' ? 'label' : 'annotation'}, and without it the rule ends in an error`,
    hint: `write ${optional}, or ask in "when" instead: ${map}: { ${quoteKey(key)}: ${value} }`,
  }
}

function counterDoubt(path: string, text: string) {
  const [, field] = COUNTER.exec(path) ?? []
  if (field === undefined || new RegExp(`has\\(\\s*object\\.status\\.${field}\\s*\\)`).test(text))
    return undefined
  return {
    message: `while it is 0, the object has no "${field}", and the rule ends in an error`,
    hint: `write object.status.?${field}.orValue(0)`,
  }
}

const HAS_KEY = /\bhas\(\s*(object\.metadata\.(labels|annotations)\.(\w+))\s*\)/g

/** `has(object.metadata.labels.team)` of an object without any labels. */
function askedWithoutMap(text: string) {
  return [...text.matchAll(HAS_KEY)].flatMap(({ index, 0: call, 1: path = '', 2: map = '', 3: key = '' }) => {
    if (new RegExp(`\\bhas\\(\\s*object\\.metadata\\.${map}\\s*\\)`).test(text)) return []
    return {
      message: `not every object has ${map}, and without them the rule ends in an error`,
      hint: `write has(object.metadata.?${map}.${key})`,
      offset: index + call.indexOf(path),
      length: path.length,
    }
  })
}

function isAskedFor(text: string, map: string): boolean {
  const path = `[oO]bject\\s*\\.\\s*metadata\\s*\\.\\s*\\??${map}`
  return new RegExp(`(\\bhas\\s*\\(\\s*(old)?|\\bin\\s+(old)?)${path}`, 'i').test(text)
}

function quoteKey(key: string): string {
  return /^[A-Za-z][\w./-]*$/.test(key) ? key : `"${key}"`
}
