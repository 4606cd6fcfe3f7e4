import type { z } from 'zod'
import type { Located } from '../source-node.ts'

/** An issue as zod 4 makes it; of other makes only the message is known. */
export type Issue = Partial<z.core.$ZodRawIssue> & { message: string }

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map of keys and values',
  record: 'a map of keys and values',
}

/** What a schema found, as the end of a sentence about a key: `must be a list, not text`. Never shows a text's value. */
export function sentenceOf(issue: Issue, found: Located | undefined): string {
  const own = ownMessage(issue)
  if (own !== undefined) return own
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${wordOf(issue)}, not ${describe(found)}`
    case 'invalid_value':
      return `must be ${joinWithOr((issue.values as unknown[]).map(String))}${found?.items ? ', and not a list' : ''}`
    case 'invalid_union':
      return `must be ${unionText(issue)}, not ${describe(found)}`
    case 'too_small':
      return tooSmall(issue as z.core.$ZodIssueTooSmall)
    case 'too_big':
      return tooBig(issue as z.core.$ZodIssueTooBig)
    case 'invalid_format':
      return issue.format === 'url' ? 'must be a URL' : `is not a valid ${String(issue.format)}`
    case 'not_multiple_of':
      return `must be a multiple of ${String(issue.divisor)}`
  }
  return 'is not understood'
}

/** Returns the usual name of a YAML value. */
function describe(found: Located | undefined): string {
  if (!found) return 'nothing'
  if (found.entries) return 'a map'
  if (found.items) return 'a list'
  if (found.value === null) return 'nothing'
  if (typeof found.value === 'number') return 'a number'
  return typeof found.value === 'string' ? 'text' : String(found.value)
}

/** A message that the schema's author wrote, made to follow the key's name. An issue does not have whose its message is. */
export function ownMessage(issue: Issue): string | undefined {
  const { message, code } = issue
  const byZod = code !== undefined && code !== 'custom' && zodMessage(issue).test(message)
  if (byZod || message === '' || message === 'Invalid input') return undefined
  return message
}

/** Matches what zod makes of an issue. */
function zodMessage({ code, format }: Issue): RegExp {
  const isNamed = code === 'invalid_format' && !CONDITIONS.includes(String(format))
  return isNamed ? /^Invalid / : BY_ZOD
}

/** Formats for which zod's message is a description. For other formats it is only the name, such as `Invalid URL`. */
const CONDITIONS = ['regex', 'starts_with', 'ends_with', 'includes']

const BY_ZOD =
  /^(?:Invalid (?:input(?::|$)|option: |discriminator value|string: must |number: must |key in |value in )|Too (?:big|small): expected |Unrecognized keys?: )/

function wordOf({ expected }: Issue): string {
  return TYPE_NAMES[String(expected)] ?? String(expected)
}

function unionText(issue: Issue): string {
  return joinWithOr([...new Set(branchTexts(issue))])
}

function branchTexts({ errors = [] }: Issue): string[] {
  const branches = errors as readonly (readonly Issue[])[]
  return branches.flatMap(([issue]) => {
    if (issue?.code === 'invalid_union') return branchTexts(issue)
    if (issue?.code === 'invalid_value') return (issue.values as unknown[]).join(' or ')
    return issue ? wordOf(issue) : 'something else'
  })
}

function joinWithOr(texts: readonly string[]): string {
  const last = texts.at(-1) ?? ''
  return texts.length < 2 ? last : `${texts.slice(0, -1).join(', ')} or ${last}`
}

function tooSmall({ origin, minimum, inclusive }: z.core.$ZodIssueTooSmall): string {
  if (origin === 'number' || origin === 'int')
    return `must be ${inclusive ? 'at least' : 'more than'} ${minimum}`
  if (Number(minimum) === 1) return origin === 'array' ? 'is an empty list' : 'is empty'
  return origin === 'array' ? `needs at least ${minimum} entries` : `needs at least ${minimum} characters`
}

function tooBig({ origin, maximum, inclusive }: z.core.$ZodIssueTooBig): string {
  if (origin === 'number' || origin === 'int')
    return `must be ${inclusive ? 'at most' : 'less than'} ${maximum}`
  return origin === 'array' ? `has more than ${maximum} entries` : `is longer than ${maximum} characters`
}
