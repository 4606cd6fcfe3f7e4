import type { SchemaIssue } from '../sink/index.ts'
import { groupHint, isGroupingKey } from './alertmanager-keys.ts'
import type { ConfigDocument, Path, Placing } from './document.ts'
import { misplacedHint, missingHint, ruleKeyFor } from './key-hints.ts'
import { knownKeysAt } from './known-keys.ts'
import type { Located } from './located.ts'
import type { Problem } from './problem.ts'
import { ruleShapeHint } from './rule-shape-hints.ts'
import { innerKeyFor } from './rule-words.ts'
import { type Issue, ownMessage, sentenceOf } from './sentences.ts'
import { nameHint, shapeHint } from './shape-hints.ts'
import { nearest, suggest } from './suggest.ts'
import { templateLabel } from './template-labels.ts'

/** What is checked, and where it stands in the file. */
export interface Subject {
  document: ConfigDocument
  schema: unknown
  /** Leads from the file's root to the checked value. */
  prefix: Path
  /** Keys beside those of the schema, such as a sink's `type`. */
  alsoKnown?: readonly string[]
}

/** What a schema found, in words for people, each at its place in the file. */
export function problemsOf(subject: Subject, issues: readonly SchemaIssue[]): Problem[] {
  const findings = issues.flatMap((issue) => {
    const steps = (issue.path ?? []).map((step) => (typeof step === 'object' ? step.key : step))
    return findingsOf(subject, issue as unknown as Issue, steps)
  })
  const meant = new Set(findings.map((finding) => finding.meant))
  return findings
    .filter(({ missing }) => missing === undefined || !meant.has(missing))
    .map(({ problem }) => problem)
}

/** A problem; a key that is missing is none when another one only misspells it. */
interface Finding {
  problem: Problem
  missing?: string
  meant?: string
}

function findingsOf(subject: Subject, raw: Issue, steps: Path): Finding[] {
  const issue = withWords(raw)
  const { document, prefix } = subject
  const path = [...prefix, ...steps]
  if (issue.code === 'unrecognized_keys') return unknownKeys(subject, issue.keys as string[], steps)
  if (issue.code === 'invalid_key') return [{ problem: invalidKey(document, issue, path) }]
  if (issue.code === 'invalid_union') {
    const branch = chooseBranch(issue)
    if (branch)
      return branch.flatMap((inner) => findingsOf(subject, inner, [...steps, ...(inner.path as Path)]))
  }
  const found = document.at(path)
  const name = nameOf(path)
  if (!found) return [{ problem: missingKey(document, path, name), missing: keyOf(path) }]
  if (found.value === null) return [{ problem: emptyValue(document, path, name) }]
  const shown = isSecret(path) && found.source !== undefined ? { ...found, source: '***' } : found
  const { message, advice } = advised(sentenceOf(issue, shown))
  const label = templateLabel(document, path)
  if (label)
    return [{ problem: document.problem(label.path, label.message, { atKey: true, hint: label.hint }) }]
  const { hint: own = advice, ...place } = placeOf(issue)
  const ofRule = ownMessage(issue) === undefined ? ruleShapeHint(path, found, document) : {}
  const hint = own ?? ofRule.hint ?? shapeHint(path, found) ?? valueHint(issue, shown)
  const placing = { ...place, ...(own === undefined && ofRule.atKey && { atKey: true }), hint }
  return [{ problem: document.problem(path, ofRule.message ?? joined(name, message), placing) }]
}

/** A word that decides between maps is one of a few, like that of an enum. */
function withWords(issue: Issue): Issue {
  const { code, options } = issue as Issue & { options?: unknown }
  if (code !== 'invalid_union' || !Array.isArray(options)) return issue
  return { ...issue, code: 'invalid_value', values: options } as Issue
}

/** What a check makes of the value itself is no part of the sentence: `write 2m`, `write "07:00"`. */
function advised(sentence: string): { message: string; advice?: string } {
  const [, message, advice] = /^(.+): (write "?[\d.][^ ]*)$/s.exec(sentence) ?? []
  return message === undefined || advice === undefined ? { message: sentence } : { message, advice }
}

/** A check of texts tells what to write, and where in the text it is wrong, in what zod calls params. */
function placeOf({ code, params }: Issue): Placing {
  if (code !== 'custom' || typeof params !== 'object' || params === null) return {}
  const { offset, length, hint } = params as Record<string, unknown>
  return {
    ...(Number.isInteger(offset) && { offset: offset as number }),
    ...(Number.isInteger(length) && { length: length as number }),
    ...(typeof hint === 'string' && { hint }),
  }
}

function keyOf(path: Path): string {
  return JSON.stringify(path)
}

/** A sink has keys that only its type knows, so a misspelt "type" is not told elsewhere. */
function missingKey(document: ConfigDocument, path: Path, name: string): Problem {
  const missing = String(path.at(-1))
  const map = path.slice(0, -1)
  const near = path[0] === 'sinks' && nearest(missing, document.at(map)?.entries?.keys() ?? [], 2)
  if (!near) return document.problem(path, `${name} is missing`, { hint: missingHint(path) })
  const hint = `did you mean "${missing}" where "${near}" stands?`
  return document.problem([...map, near], `${name} is missing`, { atKey: true, hint })
}

/** A number may be a password too. */
function isSecret(path: Path): boolean {
  return path.some((step) => /secret|token|passw|api-?key|authorization|credential/i.test(String(step)))
}

function unknownKeys(
  { document, schema, prefix, alsoKnown = [] }: Subject,
  keys: readonly string[],
  steps: Path,
): Finding[] {
  const known = [...(steps.length === 0 ? alsoKnown : []), ...knownKeysAt(schema, steps)]
  const isOfRule = prefix.length + steps.length === 2 && [...prefix, ...steps][0] === 'rules'
  const grouping = isOfRule ? keys.filter(isGroupingKey) : []
  const others = keys.filter((key) => !grouping.includes(key))
  const groups = grouping.length === 0 ? [] : [groupingKeys(document, [...prefix, ...steps], grouping)]
  return groups.concat(
    others.map((key) => {
      const path = [...prefix, ...steps, key]
      const isRest = document.at(path)?.value === null && key.includes(')')
      const better = isRest ? COMMA_HINT : misplacedHint(path, document)
      const foreign = path.length === 3 && path[0] === 'rules' ? ruleKeyFor(key) : innerKeyFor(path)
      const hint =
        better ??
        stopHint(key, path, document) ??
        (foreign === undefined ? suggest(key, [...new Set(known)]) : foreignHint(foreign, path))
      const problem = document.problem(path, `unknown key "${key}"`, { atKey: true, hint })
      const meant = better === undefined ? (foreign ?? nearest(key, new Set(known))) : undefined
      return { problem, ...(meant !== undefined && { meant: keyOf([...prefix, ...steps, meant]) }) }
    }),
  )
}

/** Told together, as they become one key. */
function groupingKeys(document: ConfigDocument, rule: Path, keys: readonly string[]): Finding {
  const hint = groupHint(keys, document.at(rule))
  const names = keys.map((key) => `"${key}"`)
  const message = `unknown ${names.length === 1 ? 'key' : 'keys'} ${names.join(names.length === 2 ? ' and ' : ', ')}`
  return { problem: document.problem([...rule, keys[0] ?? ''], message, { atKey: true, hint }) }
}

function foreignHint(word: string, path: Path): string {
  const isBurst = path.at(-2) === 'throttle' && word === 'burst'
  return `here it is called "${word}"${isBurst ? ' (how many are let through in each "every")' : ''}`
}

/** What other tools call the end of the list. */
function stopHint(key: string, path: Path, document: ConfigDocument): string | undefined {
  const isOfRule = path.length === 3 && path[0] === 'rules'
  if (!isOfRule || !/^(stop|final|last|break|terminal|halt)$/i.test(key)) return undefined
  return document.at(path)?.value === false
    ? 'leave it out: rules below see it anyway'
    : 'write continue: false (rules below do not see what this one took)'
}

/** `{ labels: a in (x, y) }` ends at the comma, for YAML. */
export const COMMA_HINT = 'inside { } a comma ends the text: put it in quotes'

function invalidKey(document: ConfigDocument, issue: Issue, path: Path): Problem {
  const [inner] = (issue.issues ?? []) as Issue[]
  const message = inner ? sentenceOf(inner, undefined) : 'cannot be a key here'
  const isSink = path.length === 2 && path[0] === 'sinks'
  const hint = isSink ? nameHint(String(path[1])) : undefined
  return document.problem(path, joined(`"${String(path.at(-1))}"`, message), { atKey: true, hint })
}

/** The alternative that was meant: one whose type is right, so that its faults lie further in. */
function chooseBranch({ errors = [], message }: Issue): readonly Issue[] | undefined {
  if (message !== 'Invalid input') return undefined
  const branches = errors as readonly (readonly Issue[])[]
  return branches.find((branch) =>
    branch.every(
      ({ code, path }) => (path as Path).length > 0 || (code !== 'invalid_type' && code !== 'invalid_value'),
    ),
  )
}

function emptyValue(document: ConfigDocument, path: Path, name: string): Problem {
  const isComment = document.textAfterKey(path).startsWith('#')
  const hint = isComment
    ? 'what follows "#" is a comment: text that begins with it needs quotes'
    : (emptySinkHint(path) ?? comparisonHint(String(path.at(-1))))
  return document.problem(path, `${name} has no value`, { hint })
}

/** Most often the lines below are there and not indented. */
function emptySinkHint([root, ...below]: Path): string | undefined {
  if (root !== 'sinks' || below.length > 1) return undefined
  return below.length === 0
    ? 'name a sink below it, indented, such as: screen: { type: stdout }'
    : 'write its options below it, indented by two more spaces, such as: type: stdout'
}

/** `{ status.phase == Failed }` is a key alone. */
function comparisonHint(key: string): string {
  const [, left, right] = /^([\w.[\]"/-]+)\s*={1,2}\s*(\S+)$/.exec(key) ?? []
  return left === undefined ? 'give it one, or leave it out' : `write ${left}: ${right}`
}

function valueHint(issue: Issue, { value, written, source }: Located): string | undefined {
  if (issue.code === 'invalid_value' && typeof value === 'string' && written === undefined) {
    const near = nearest(value, (issue.values as unknown[]).map(String))
    return near === undefined ? undefined : `did you mean "${near}"?`
  }
  if (ownMessage(issue) === undefined && wantsText(issue) && source !== undefined)
    return source === '***' ? 'as text it needs quotes' : `as text it needs quotes: "${source}"`
  if (written !== undefined && typeof issue.expected === 'string')
    return `what \${…} stands for is always text`
  return undefined
}

function wantsText({ expected, errors = [] }: Issue): boolean {
  const branches = errors as readonly (readonly Issue[])[]
  return expected === 'string' || branches.some(([issue]) => issue?.expected === 'string')
}

/** `"port"`, or `"namespaces", entry 2`. */
export function nameOf(path: Path): string {
  const at = path.findLastIndex((step) => typeof step === 'string')
  const entry = path.slice(at + 1).map((index) => `, entry ${Number(index) + 1}`)
  return at === -1 ? 'the file' : `"${String(path[at])}"${entry.join('')}`
}

function joined(name: string, message: string): string {
  if (/^"[^"]*" is no(thing)?\b/.test(message)) return message
  return /^(must|is|are|has|have|needs|cannot|does|may|was|matches)\b/.test(message)
    ? `${name} ${message}`
    : `${name}: ${message}`
}
