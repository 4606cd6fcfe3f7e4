import { RE2JS } from 're2js'
import { type Compiled, compiled, faulty } from './fault.ts'

/** Instructions times characters that an expression may take: some 30 ms at worst. */
const MOST_STEPS = 600_000
const MOST_INSTRUCTIONS = 2_000

/**
 * Compiles an RE2 expression that may match anywhere in the value. RE2 runs in linear time whatever the value is,
 * so an object's author cannot stall us; a value that would take too long even so makes the test throw. Syntax: https://github.com/google/re2/wiki/Syntax
 */
export function compileRegex(source: string): Compiled<(value: string) => boolean> {
  const found = compiledBefore.get(source) ?? compileNew(source)
  if (compiledBefore.size >= MOST_KEPT) compiledBefore.clear()
  compiledBefore.set(source, found)
  return found
}

/** A configuration is looked at from several sides, and each wants the same expressions. */
const compiledBefore = new Map<string, Compiled<(value: string) => boolean>>()
const MOST_KEPT = 2_000

function compileNew(source: string): Compiled<(value: string) => boolean> {
  try {
    const regex = RE2JS.compile(source)
    const size = regex.programSize()
    if (size > MOST_INSTRUCTIONS)
      return faulty('is too large an expression', {
        hint: 'repeat less, such as {1,100}, or use a list of patterns',
        offset: 0,
        length: source.length,
      })
    const longest = Math.floor(MOST_STEPS / size)
    return compiled((value) => {
      if (value.length > longest) throw new RangeError(tooLong(value, `/${source}/`))
      return regex.test(value)
    })
  } catch (error) {
    const { error: reason = '', input = '' } = error as { error?: string; input?: string }
    const hint = /^\(\?<?!/.test(input ?? '')
      ? 'what it must not be is a pattern of its own: ["web-*", "!web-test*"]'
      : undefined
    return faulty(sentenceOf(reason, input ?? ''), {
      ...placeOf(source, reason, input ?? ''),
      ...(hint !== undefined && { hint }),
    })
  }
}

/** For a value that a pattern could only be compared with in more time than there is. */
export function tooLong(value: string, pattern: string): string {
  const shown = pattern.length > 60 ? `${pattern.slice(0, 60)}…` : pattern
  return `a value of ${value.length.toLocaleString('en-US')} characters is too long to be compared with ${shown}`
}

/** It has none so that no text can stall it. */
const NOT_IN_RE2 = ', which RE2 regular expressions do not have'

function sentenceOf(reason: string, input: string): string {
  if (/^\(\?<?[=!]/.test(input))
    return `has a ${input[2] === '<' ? 'look-behind' : 'look-ahead'} "${/^\(\?<?[=!]/.exec(input)?.[0]}"${NOT_IN_RE2}`
  if (/^\\[1-9]/.test(input)) return `has a back-reference "${input}"${NOT_IN_RE2}`
  return `has an expression that RE2 cannot read: ${reason || 'unknown error'}`
}

function placeOf(source: string, reason: string, input: string): { offset: number; length: number } {
  const open = reason.startsWith('missing closing )') ? unclosedParenthesis(source) : -1
  if (open !== -1) return { offset: open, length: 1 }
  const offset = input === '' ? -1 : source.indexOf(input)
  if (offset !== -1) return { offset, length: input.length }
  const last = Math.max(source.length - 1, 0)
  return reason.startsWith('trailing backslash')
    ? { offset: last, length: 1 }
    : { offset: 0, length: source.length }
}

function unclosedParenthesis(source: string): number {
  const open: number[] = []
  let inClass = false
  for (let i = 0; i < source.length; i++) {
    const char = source[i]
    if (char === '\\') i++
    else if (inClass) inClass = char !== ']'
    else if (char === '[') inClass = true
    else if (char === '(') open.push(i)
    else if (char === ')') open.pop()
  }
  return open.at(-1) ?? -1
}
