import { stringify } from 'yaml'
import type { SchemaIssue } from '../../sink/index.ts'
import { nearest } from '../../text/closest-match.ts'
import type { ConfigDocument, Path, Placing } from '../document.ts'
import type { Problem } from '../problem.ts'
import { PROBLEM_CODES, type ProblemCode } from '../problem-codes.ts'
import type { Located } from '../source-node.ts'
import { BLANK_HINT, DASH_HINT } from '../yaml/syntax.ts'
import { aliasOf, otherFileHint, valueAlias } from './key-aliases.ts'
import { type Issue, ownMessage, sentenceOf } from './sentences.ts'
import { suggest } from './suggest.ts'

/** What is checked, and where it is in the file. */
interface Subject {
  document: ConfigDocument
  schema: unknown
  /** Leads from the file's root to the checked value. */
  prefix: Path
  /** Keys in addition to those of the schema, such as a sink's `type`. */
  alsoKnown?: readonly string[]
  /** Whether messages of the schema may quote a value; those of built-in sinks do not. */
  mayQuote?: boolean
}

/** Returns the issues of a schema as problems, each at its place in the file. */
export function problemsOf(subject: Subject, issues: readonly SchemaIssue[]): Problem[] {
  const findings = issues.flatMap((issue) => {
    const steps = (issue.path ?? []).map((step) => (typeof step === 'object' ? step.key : step))
    return findingsOf(subject, issue as unknown as Issue, steps)
  })
  const intended = new Set(findings.map((it) => it.intended))
  return findings
    .filter(({ missing }) => missing === undefined || !intended.has(missing))
    .map(({ problem }) => problem)
}

/** A problem; a missing key is none where another key is a misspelling of it. */
interface Finding {
  problem: Problem
  missing?: string
  intended?: string
}

function findingsOf(subject: Subject, raw: Issue, steps: Path): Finding[] {
  const issue = withValues(raw)
  const { document, prefix } = subject
  const path = [...prefix, ...steps]
  if (issue.code === 'unrecognized_keys')
    return (issue.keys as string[]).map((key) => unknownKey(subject, steps, key))
  if (issue.code === 'invalid_key') return [{ problem: invalidKey(document, issue, path) }]
  if (issue.code === 'invalid_union') {
    const branch = chooseBranch(issue)
    if (branch)
      return branch.flatMap((inner) => findingsOf(subject, inner, [...steps, ...(inner.path as Path)]))
  }
  const found = document.at(path)
  if (!found) return [{ problem: missingKey(subject, path, steps), missing: keyOf(path) }]
  if (found.value === null) return [{ problem: emptyValue(document, path) }]
  const { code, ...placing } = placingOf(issue)
  const hidden = hiddenValue(found, path)
  if (hidden !== undefined && quotesSecret(issue, placing, found))
    return [{ problem: document.problem(code ?? shapeCode(issue), path, hidden, { hint: emptyHint(found) }) }]
  const shown = subject.mayQuote ? withoutLiteral(issue, found) : (text: string) => text
  const hint =
    emptyHint(found) ??
    (placing.hint && shown(placing.hint)) ??
    valueHint(issue, found) ??
    (typeof found.value === 'string' && found.written === undefined
      ? valueAlias(path, found.value)
      : undefined) ??
    (shapeCode(issue) === 'wrong-type' && ownMessage(issue) === undefined
      ? exampleAt(subject, steps)
      : undefined)
  const message = shown(joined(nameOf(path), sentenceOf(issue, found)))
  return [{ problem: document.problem(code ?? shapeCode(issue), path, message, { ...placing, hint }) }]
}

/** A key that selects the branch of a union takes one of a few values, like an enum. */
function withValues(issue: Issue): Issue {
  const { code, options } = issue as Issue & { options?: unknown }
  if (code !== 'invalid_union' || !Array.isArray(options)) return issue
  return { ...issue, code: 'invalid_value', values: options } as Issue
}

/** The branch that was likely intended: one whose type is right, so that its issues are further in. */
function chooseBranch(issue: Issue): readonly Issue[] | undefined {
  if (ownMessage(issue) !== undefined) return undefined
  const branches = (issue.errors ?? []) as readonly (readonly Issue[])[]
  return branches.find((branch) => branch.every((it) => (it.path as Path).length > 0 || hasRightType(it)))
}

function hasRightType(issue: Issue): boolean {
  const { code, errors } = issue as Issue & { errors?: readonly unknown[] }
  if (code === 'invalid_union' && errors?.length && ownMessage(issue) === undefined)
    return chooseBranch(issue) !== undefined
  return code !== 'invalid_type' && code !== 'invalid_value'
}

function shapeCode({ code }: Issue): ProblemCode {
  return code === 'invalid_type' || code === 'invalid_union' ? 'wrong-type' : 'invalid-value'
}

/** The code, the place within the text and the hint that a check gives as zod's params. */
function placingOf({ code, params }: Issue): Placing & { code?: ProblemCode } {
  if (code !== 'custom' || typeof params !== 'object' || params === null) return {}
  const { offset, length, hint, code: own } = params as Record<string, unknown>
  return {
    ...(Number.isInteger(offset) && { offset: offset as number }),
    ...(Number.isInteger(length) && { length: length as number }),
    ...(typeof hint === 'string' && { hint }),
    ...(typeof own === 'string' && Object.hasOwn(PROBLEM_CODES, own) && { code: own as ProblemCode }),
  }
}

/** Returns whether a fault in a text is in the value of a reference, or quotes a part of one. */
function quotesSecret(
  { message }: Issue,
  { offset, length = 1 }: Placing,
  { value, secrets }: Located,
): boolean {
  if (offset === undefined) return false
  const text = String(value)
  const quoted = [...message.matchAll(/"([^"]+)"/g)].map(([, word = '']) => word)
  return secrets.some((secret) => {
    if (quoted.some((word) => secret.includes(word))) return true
    const at = text.lastIndexOf(secret, offset + length - 1)
    return secret !== '' && at !== -1 && at + secret.length > offset
  })
}

/** What is shown of a fault in a value with secrets: its message could quote a part of one. */
export function hiddenValue({ written, secrets }: Located, path: Path): string | undefined {
  if (written === undefined || secrets.length === 0) return undefined
  return `the value of ${written} is not valid for ${nameOf(path)}`
}

/** A variable or a file that is set and has no content is easily taken for one that is right. */
function emptyHint({ value, written }: Located): string | undefined {
  return value === '' && written !== undefined ? `${written} is empty` : undefined
}

/** `-Event` is text, and `-name: x` a key. */
function isDashed({ value, entries }: Located): boolean {
  const [key] = entries?.keys() ?? []
  return /^-[^\s-]/.test(key ?? (typeof value === 'string' ? value : ''))
}

function valueHint(issue: Issue, found: Located): string | undefined {
  const { value, written, source } = found
  if (issue.expected === 'array' && isDashed(found)) return DASH_HINT
  if (issue.code === 'invalid_value' && typeof value === 'string' && written === undefined) {
    const options = (issue.values as unknown[]).map(String)
    const near = nearest(value, options) ?? options.find((it) => value.length > 2 && it.startsWith(value))
    return near === undefined ? undefined : `did you mean "${near}"?`
  }
  if (ownMessage(issue) === undefined && wantsText(issue) && source !== undefined)
    return 'as text it needs quotes'
  if (issue.expected === 'boolean' && /^(yes|on|no|off)$/i.test(String(value)))
    return `write ${/^(yes|on)$/i.test(String(value))}`
  if (written !== undefined && typeof issue.expected === 'string') return `the value of \${…} is always text`
  return undefined
}

function wantsText({ expected, errors = [] }: Issue): boolean {
  const branches = errors as readonly (readonly Issue[])[]
  return expected === 'string' || branches.some(([issue]) => issue?.expected === 'string')
}

/** Returns the example of a key, or of the map around it if that has the key or takes any keys. */
function exampleAt({ schema, prefix }: Subject, steps: Path): string | undefined {
  const end = steps.findLastIndex((step) => typeof step === 'string') + 1
  for (const length of [end, end - 1]) {
    const key = length > 0 ? steps[length - 1] : prefix.at(-1)
    const schemas = schemasAt(schema, steps.slice(0, Math.max(length, 0)))
    const [example] = examplesOf(schemas)
    if (example === undefined || typeof key !== 'string') continue
    const isRecord = schemas.some((it) => defOf(it)?.valueType !== undefined)
    if (length < end && !isRecord && !Object.hasOwn(Object(example), steps[end - 1] ?? '')) continue
    const text = stringify({ [key]: example }, { collectionStyle: 'flow', lineWidth: 0 })
    return `such as ${text.trim().slice(2, -2).replaceAll('[ ', '[').replaceAll(' ]', ']')}`
  }
  return undefined
}

/** Masks a value in a message that the author of a plug-in wrote: it may be a password. */
function withoutLiteral(issue: Issue, { value }: Located): (text: string) => string {
  const isShown = ownMessage(issue) === undefined || typeof value !== 'string' || value.length < 3
  return (text) => (isShown ? text : text.replaceAll(value, '***'))
}

/** A sink has keys that only its type knows, so a misspelt "type" is found here only. */
function missingKey(subject: Subject, path: Path, steps: Path): Problem {
  const { document } = subject
  const missing = String(path.at(-1))
  const map = path.slice(0, -1)
  const keys = [...(document.at(map)?.entries?.keys() ?? [])]
  const joint = keys.find((key) => key.startsWith(`${missing}:`))
  if (joint !== undefined) return withoutBlank(document, [...map, joint])
  const near = path[0] === 'sinks' && nearest(missing, keys, 2)
  if (!near)
    return document.problem('missing-key', path, `${nameOf(path)} is missing`, {
      hint: exampleAt(subject, steps),
      ...aboutKey(path),
    })
  const hint = `did you mean "${missing}" instead of "${near}"?`
  return document.problem('missing-key', [...map, near], `${nameOf(path)} is missing`, { atKey: true, hint })
}

function unknownKey(subject: Subject, steps: Path, key: string): Finding {
  const { document, schema, prefix, alsoKnown = [] } = subject
  const known = new Set([...(steps.length === 0 ? alsoKnown : []), ...knownKeysAt(schema, steps)])
  const map = [...prefix, ...steps]
  const path = [...map, key]
  const alias = freeAlias(subject, steps, key)
  const isEmpty = document.at(path)?.value === null
  const [, joint] = (isEmpty && /^([\w-]+):\S/.exec(key)) || []
  if (joint !== undefined) return { problem: withoutBlank(document, path), intended: keyOf([...map, joint]) }
  const isRest = isEmpty && key.includes(')')
  const rootKeys = new Set((map.length === 0 && document.at([])?.entries?.keys()) || [])
  const other = otherFileHint(rootKeys)
  const own = alias === undefined ? suggest(key, [...known]) : `here it is ${alias}`
  const hint = isRest ? COMMA_HINT : (other ?? own)
  const intended = /^[\w-]+/.exec(alias ?? '')?.[0] ?? nearest(key, known)
  return {
    problem: document.problem('unknown-key', path, `unknown key "${key}"`, { atKey: true, hint }),
    ...(intended !== undefined && { intended: keyOf([...map, intended]) }),
  }
}

/** `{ type:stdout }` is a key. It is not quoted: what is behind the colon may be a secret. */
function withoutBlank(document: ConfigDocument, path: Path): Problem {
  const [key = ''] = /^[\w-]+:/.exec(String(path.at(-1))) ?? []
  return document.problem('unknown-key', path, `"${key}" is not a key without a blank behind it`, {
    atKey: true,
    hint: BLANK_HINT,
  })
}

/** Returns the alias of an unknown key, unless it is not allowed there or already set: `group`, `group: { by }`, `if, next to "when"`. */
function freeAlias({ document, schema, prefix }: Subject, steps: Path, key: string): string | undefined {
  const alias = aliasOf([...prefix, ...steps, key])
  const [, name, inner] = /^([\w-]+)(?:: \{ (\w+) \})?/.exec(alias ?? '') ?? []
  if (alias === undefined || name === undefined || /^(under|part) /.test(alias)) return alias
  if (prefix.length + steps.length === 0 && knownKeysAt(schema, []).includes(name)) return alias
  const map = alias.includes(', next to "') ? steps.slice(0, -1) : steps
  const target = [...prefix, ...map, name, ...(inner === undefined ? [] : [inner])]
  return knownKeysAt(schema, map).includes(name) && !document.at(target) ? alias : undefined
}

/** `{ labels: a in (x, y) }` ends at the comma, for YAML. */
export const COMMA_HINT = 'inside { } a comma ends the text: put it in quotes'

function invalidKey(document: ConfigDocument, issue: Issue, path: Path): Problem {
  const [inner] = (issue.issues ?? []) as Issue[]
  const message = inner ? sentenceOf(inner, undefined) : 'cannot be a key here'
  return document.problem('invalid-key', path, joined(`"${String(path.at(-1))}"`, message), { atKey: true })
}

function emptyValue(document: ConfigDocument, path: Path): Problem {
  const isComment = document.textAfterKey(path).startsWith('#')
  const hint = isComment
    ? 'text after "#" is a comment: text that begins with "#" needs quotes'
    : 'give it a value, or indent the lines below it by two more spaces'
  return document.problem(isComment ? 'yaml-comment' : 'empty-value', path, `${nameOf(path)} has no value`, {
    hint,
    ...aboutKey(path),
  })
}

/** A key of the root, which an included file may have. */
function aboutKey(path: Path): { about?: string } {
  return path.length === 1 ? { about: String(path[0]) } : {}
}

function keyOf(path: Path): string {
  return JSON.stringify(path)
}

/** `"port"`, or `"namespaces", entry 2`. */
export function nameOf(path: Path): string {
  const at = path.findLastIndex((step) => typeof step === 'string')
  const entry = path.slice(at + 1).map((index) => `, entry ${Number(index) + 1}`)
  return at === -1 ? 'the file' : `"${String(path[at])}"${entry.join('')}`
}

/** A message that is the end of a sentence follows the name; a whole sentence comes after a colon or alone. */
function joined(name: string, message: string): string {
  if (/^"[^"]*" is not(hing)?\b/.test(message)) return message
  return /^(must|is|are|has|have|needs|cannot|does|may|was|matches)\b/.test(message)
    ? `${name} ${message}`
    : `${name}: ${message}`
}

/** What is read of a zod schema; a sink package may bring its own copy of zod. */
interface SchemaDef {
  shape?: Record<string, unknown>
  element?: unknown
  valueType?: unknown
  innerType?: unknown
  in?: unknown
  options?: readonly unknown[]
}

function defOf(schema: unknown): SchemaDef | undefined {
  return (schema as { _zod?: { def?: SchemaDef } } | undefined)?._zod?.def
}

function knownKeysAt(schema: unknown, path: Path): string[] {
  return schemasAt(schema, path).flatMap((it) => Object.keys(defOf(it)?.shape ?? {}))
}

function examplesOf(schemas: readonly unknown[]): unknown[] {
  return schemas.flatMap((schema) => {
    const { examples } = (schema as { meta?(): { examples?: unknown[] } | undefined }).meta?.() ?? {}
    return examples ?? []
  })
}

/** All zod schemas of a path, with those that they wrap and the branches of unions; none for other schema libraries. */
function schemasAt(schema: unknown, path: Path): unknown[] {
  const def = defOf(schema)
  if (!def) return []
  const wrapped = [def.innerType, def.in, ...(def.options ?? [])].filter((it) => it !== undefined)
  const [step, ...rest] = path
  const below = wrapped.flatMap((it) => schemasAt(it, path))
  if (step === undefined) return [schema, ...below]
  const child = def.shape
    ? Object.hasOwn(def.shape, step)
      ? def.shape[String(step)]
      : undefined
    : (def.element ?? def.valueType)
  return [...below, ...schemasAt(child, rest)]
}
