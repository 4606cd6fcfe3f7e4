import { askedKeys } from '../rules/asked-keys.ts'
import { pathsInExpression } from '../rules/cel/paths-in.ts'
import { kindsReached } from './check-reach.ts'
import type { ConfigDocument } from './document.ts'
import type { Draft } from './draft.ts'
import { withinQuotes } from './fault-problems.ts'
import type { Problem } from './problem.ts'

const KEY = /^metadata\.(labels|annotations)(?:\.(\w+)|\[(["'])([^"']+)\3\])$/

/** The API server leaves them out while they are 0. */
const COUNTER =
  /^status\.(readyReplicas|availableReplicas|updatedReplicas|unavailableReplicas|numberAvailable|numberUnavailable|updatedNumberScheduled|active|ready|succeeded|failed)$/

/** What an `if` reads and does not ask for first, though not every object has it: without it the rule ends in an error. */
export function checkMissingFields(draft: Draft, document: ConfigDocument): Problem[] {
  return draft.rules.flatMap((rule) => {
    const { index, if: text, onError, sound } = rule
    if (text === undefined || onError === 'deliver' || !/labels|annotations|status/.test(text)) return []
    const asked = { labels: askedKeys(sound.labels), annotations: askedKeys(sound.annotations) }
    const ofJobs = () =>
      kindsReached(rule, draft)?.some(({ builtIn }) => builtIn.some(({ kind }) => kind === 'Job')) ?? false
    const told = new Set<string>()
    const read = pathsInExpression(text).flatMap(({ path, offset, root }) => {
      const doubt = told.has(path)
        ? undefined
        : (keyDoubt(path, text, offset, asked) ?? counterDoubt(path, text, ofJobs))
      if (!doubt) return []
      told.add(path)
      return [{ ...doubt, offset: root, length: offset + path.length - root }]
    })
    return [...read, ...askedWithoutMap(text)].map(({ message, hint, ...placing }) =>
      document.problem(['rules', index, 'if'], message, {
        ...placing,
        hint: withinQuotes(hint, document.at(['rules', index, 'if'])),
        severity: 'warning',
      }),
    )
  })
}

function keyDoubt(
  path: string,
  text: string,
  offset: number,
  asked: Readonly<Record<string, readonly string[]>>,
) {
  const [, map, name, , quoted] = KEY.exec(path) ?? []
  const key = name ?? quoted
  if (map === undefined || key === undefined || isAskedFor(text, map)) return undefined
  // With null it is told as a field that may be missing.
  if (asked[map]?.includes(key) || isBesideNull(text, offset + path.length)) return undefined
  const behind = text.slice(offset + path.length, offset + path.length + 200)
  const [, , value = '…'] = /^\s*==\s*(["'])([\w.-]+)\1/.exec(behind) ?? []
  const optional = `object.metadata.?${map}${name === undefined ? `[?"${key}"]` : `.?${key}`}.orValue("")`
  return {
    message: `not every object has this ${map === 'labels' ? 'label' : 'annotation'}, and without it the rule ends in an error`,
    hint: `write ${optional}, or ask in "when" instead: ${map}: { ${quoteKey(key)}: ${value} }`,
  }
}

const OF_JOBS = /^(active|ready|succeeded|failed)$/

function counterDoubt(path: string, text: string, ofJobs: () => boolean) {
  const [, field] = COUNTER.exec(path) ?? []
  if (field === undefined || (OF_JOBS.test(field) && !ofJobs())) return undefined
  if (
    new RegExp(
      `has\\(\\s*object\\.status\\.${field}\\s*\\)|["']${field}["']\\s+in\\s+object\\.status\\b`,
    ).test(text)
  )
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

function isBesideNull(text: string, end: number): boolean {
  return /^\s*[!=]=\s*null\b/.test(text.slice(end, end + 40))
}

function quoteKey(key: string): string {
  return /^[A-Za-z][\w./-]*$/.test(key) ? key : `"${key}"`
}
