import type { ObjectRef } from '../event.ts'
import { isJoined, listHint } from './comma.ts'
import { type Compiled, compiled, type Fault, faulty, under } from './fault.ts'
import { isGroup, isKnownWord, type KindTest, kindOf, kindTest, parseSpelling } from './kind.ts'
import { expressionHint } from './likely-expression.ts'
import { type Pattern, parsePattern } from './pattern.ts'
import { listOf, type Patterns } from './schema.ts'

/** Tests the controllers of an object; undefined when they are not known, which only `!` patterns let pass. */
export interface OwnerTest {
  (owners: readonly ObjectRef[] | undefined): boolean
  /** Does a `!` pattern mean one of them? Then it fails, whatever else may be above. */
  excludes(owners: readonly ObjectRef[] | undefined): boolean
}

/**
 * Compiles `owner`: `Kind`, `Kind/name` with globs in both, or an expression over `Kind/name`. Passes when no `!` pattern
 * means any controller of the chain and, if there are others, one of them means one.
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
    const { message, hint, whole: isWhole } = fault
    const place = isWhole && !negated ? {} : { offset, length: Math.max(body.length, 1) }
    return faulty(message, { ...place, hint })
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

/** The kind that a pattern of `owner` names, where it names one; without its `!`. */
export function ownerKindOf(text: string): string | undefined {
  const body = text.replace(/^!/, '')
  const slash = body.lastIndexOf('/')
  const kind = slash === -1 ? body : body.slice(0, slash)
  const parsed = parsePattern(kind)
  return parsed.ok && parsed.value.form === 'literal' && !body.startsWith('/') ? kind : undefined
}

/** `^web-.*$` as `web-*`; undefined for what is more than the begin or the end of a name. */
function globFor(expression: string): string | undefined {
  const [, start, more, word, any, end] = /^(\^?)(\.[*+])?([a-z0-9-]+)(\.[*+])?(\$?)$/.exec(expression) ?? []
  if (word === undefined) return undefined
  const isOpen = any !== undefined || end === ''
  return `${start === '' || more !== undefined ? '*' : ''}${word}${isOpen ? '*' : ''}`
}

/** The same as it was written, but over the kind, too. */
function expressionFor(kind: string, name: string): string {
  const any = /^(\^|\.\*)/.test(name) ? '' : '.*'
  return `/^${kind.replaceAll('*', '.*')}/${any}${name.replace(/^\^/, '')}/`
}

interface OwnerFault {
  message: string
  hint: string
  /** All of it has to change, with its quotes. */
  whole?: true
}

/** What is wrong with `Kind/name`, and what was probably meant. */
function faultIn(text: string, body: string, whole: Pattern): OwnerFault | undefined {
  if (body === '') return { message: 'is empty: name a kind', hint: EXAMPLES }
  if (isJoined(whole)) return { message: `"${body}" is no owner`, hint: listHint(text) }
  const slash = body.lastIndexOf('/')
  const [kind, name] = slash === -1 ? [body, undefined] : [body.slice(0, slash), body.slice(slash + 1)]
  const not = text === body ? '' : '!'
  if (kind === '' || name === '') return { message: `"${body}" is no owner`, hint: EXAMPLES }
  const [first = '', ...between] = kind.split('/')
  if (name !== undefined && kind.includes('/') && isKnownWord(first)) {
    const [namespace] = between.length === 1 && not === '' ? between : []
    return {
      message: `"${body}" is no owner: that is Kind/name, in the object's own namespace`,
      hint: `write ${not}${first}/${name}${namespace ? `, and namespace: ${namespace} beside "owner"` : ''}`,
      whole: true,
    }
  }
  if (name !== undefined && /\^|\$$|[|+[\]]|\.\*|\\[dwsb]/.test(name)) {
    const glob = globFor(name)
    return {
      message: `"${body}" is no owner: an expression stands between slashes, and is about Kind/name`,
      hint:
        glob === undefined
          ? `write ${not}${kind}/… with * and ?, or "${not}${expressionFor(kind, name)}"`
          : `write "${not}${kind}/${glob}", or "${not}${expressionFor(kind, name)}"`,
      whole: true,
    }
  }
  const parsed = parsePattern(kind)
  const isGlob = parsed.ok && parsed.value.form === 'glob'
  if (name !== undefined && /[A-Z]/.test(name)) {
    if (!/^[a-z0-9.*?-]+$/.test(kind))
      return {
        message: `no object is called "${name}": names are in lower case`,
        hint: isKnownWord(name)
          ? `for any name write ${not}${body}/*`
          : `write ${not}${kind}/${name.toLowerCase()}`,
      }
    const other = isKnownWord(name) && isGroup(kind) ? `, or ${not}${body}/* for any name` : ''
    return {
      message: `"${body}" is no owner: the kind comes first`,
      hint: `write ${not}${name}/${kind}${other}`,
    }
  }
  if (!isGlob && !parseSpelling(kind))
    return { message: `"${kind}" is no kind`, hint: expressionHint(text) ?? EXAMPLES }
  if (name === undefined && !isGlob && kind.includes('-') && !kind.includes('.'))
    return { message: `"${body}" is no kind`, hint: `for an owner of any kind write "${not}*/${body}"` }
  return undefined
}
