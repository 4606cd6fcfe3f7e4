import type { ObjectRef } from '../model/event.ts'
import { type Compiled, compiled, type Fault, faulty, under } from './fault.ts'
import { isKnownWord, type KindTest, kindOf, kindTest, parseSpelling } from './kind.ts'
import {
  expressionHint,
  isJoined,
  listHint,
  listOf,
  type Pattern,
  type Patterns,
  parsePattern,
} from './pattern.ts'

/** Tests the controllers of an object; unknown controllers (undefined) pass only `!` patterns. */
interface OwnerTest {
  (owners: readonly ObjectRef[] | undefined): boolean
  /** Whether a `!` pattern matches one of them: then unknown controllers further up do not matter. */
  excludes(owners: readonly ObjectRef[] | undefined): boolean
}

/**
 * Compiles `owner`: `Kind`, `Kind/name` with globs in both, or a regular expression for `Kind/name`. Passes if no `!` pattern
 * matches a controller of the chain and, if there are others, one of them matches one.
 */
export function compileOwners(patterns: Patterns): Compiled<OwnerTest> {
  const faults: Fault[] = []
  const positive: RefTest[] = []
  const negative: RefTest[] = []
  for (const [index, text] of listOf(patterns).entries()) {
    const result = parseOwner(text)
    if (result.ok) (result.value.negated ? negative : positive).push(result.value.test)
    else faults.push(...under(typeof patterns === 'string' ? [] : [index], result.faults))
  }
  if (faults.length > 0) return { ok: false, faults }
  const excludes: OwnerTest['excludes'] = (owners = []) => negative.some((test) => owners.some(test))
  const test = (owners: readonly ObjectRef[] = []) =>
    !excludes(owners) && (positive.length === 0 || positive.some((test) => owners.some(test)))
  return compiled(Object.assign(test, { excludes }))
}

type RefTest = (owner: ObjectRef) => boolean

function parseOwner(text: string): Compiled<{ negated: boolean; test: RefTest }> {
  const whole = parsePattern(text)
  if (!whole.ok) return whole
  const { negated, form } = whole.value
  const body = negated ? text.slice(1) : text
  const offset = text.length - body.length
  if (form === 'regex')
    return compiled({ negated, test: ({ kind = '', name = '' }) => whole.value.test(`${kind}/${name}`) })
  const fault = faultIn(text, body, whole.value)
  if (fault) {
    const { message, hint } = fault
    return faulty(message, { offset, length: Math.max(body.length, 1), hint })
  }
  const slash = body.lastIndexOf('/')
  const kind = testOfKind(slash === -1 ? body : body.slice(0, slash))
  const name = slash === -1 ? undefined : parsePattern(body.slice(slash + 1))
  if (name && !name.ok) return name
  return compiled({
    negated,
    test: (owner) => kind(kindOf(owner)) && (name === undefined || name.value.test(owner.name ?? '')),
  })
}

function testOfKind(text: string): KindTest {
  const parsed = parsePattern(text)
  return parsed.ok ? kindTest(parsed.value) : () => false
}

const EXAMPLES = 'write Deployment, Deployment/web, Deployment/pay-* or */web'

/** Returns the kind in a pattern of `owner` without `!`; undefined if it is a glob or a regular expression. */
export function ownerKindOf(text: string): string | undefined {
  const body = text.replace(/^!/, '')
  const slash = body.lastIndexOf('/')
  const kind = slash === -1 ? body : body.slice(0, slash)
  const parsed = parsePattern(kind)
  return parsed.ok && parsed.value.form === 'literal' && !body.startsWith('/') ? kind : undefined
}

interface OwnerFault {
  message: string
  hint: string
}

/** Returns the fault of `Kind/name`, if there is one. */
function faultIn(text: string, body: string, whole: Pattern): OwnerFault | undefined {
  if (body === '') return { message: 'is empty: name a kind', hint: EXAMPLES }
  if (isJoined(whole)) return { message: `"${body}" is not an owner`, hint: listHint(text) }
  const slash = body.lastIndexOf('/')
  const [kind, name] = slash === -1 ? [body, undefined] : [body.slice(0, slash), body.slice(slash + 1)]
  const not = text === body ? '' : '!'
  if (kind === '' || name === '') return { message: `"${body}" is not an owner`, hint: EXAMPLES }
  const [first = ''] = kind.split('/')
  if (name !== undefined && kind.includes('/') && isKnownWord(first))
    return {
      message: `"${body}" is not an owner: an owner has no namespace`,
      hint: `write ${not}${first}/${name}, which matches in all namespaces of the rule`,
    }
  if (name !== undefined && /\^|\$$|[|+[\]]|\.\*|\\[dwsb]/.test(name))
    return {
      message: `"${body}" is not an owner: a regular expression is enclosed in slashes, and matches Kind/name`,
      hint: `write ${not}${kind}/… with * and ?, or "${not}/^${kind}/…/"`,
    }
  const parsed = parsePattern(kind)
  const isGlob = parsed.ok && parsed.value.form === 'glob'
  if (name !== undefined && /[A-Z]/.test(name)) {
    const isSwapped = /^[a-z0-9.*?-]+$/.test(kind)
    const hint = isSwapped ? `write ${not}${name}/${kind}` : `write ${not}${kind}/${name.toLowerCase()}`
    const fault = isSwapped ? 'the kind comes first' : 'names are in lower case'
    return { message: `"${body}" is not an owner: ${fault}`, hint }
  }
  if (!isGlob && !parseSpelling(kind))
    return { message: `"${kind}" is not a kind`, hint: expressionHint(text) ?? EXAMPLES }
  if (name === undefined && !isGlob && kind.includes('-') && !kind.includes('.'))
    return { message: `"${body}" is not a kind`, hint: `for an owner of any kind write "${not}*/${body}"` }
  return undefined
}
