import type { Fault } from '../../rules/fault.ts'
import { type ConfigDocument, type Path, problemAt } from '../document.ts'
import { COMMA_HINT, hiddenValue, nameOf } from '../error-messages/zod-issues.ts'
import type { Problem } from '../problem.ts'
import type { Located } from '../source-node.ts'
import { lineOf } from '../yaml/syntax.ts'

/** Returns faults of patterns, selectors and expressions as problems at their positions in the file. */
export function faultProblems(
  faults: readonly (Fault & { about?: string })[],
  prefix: Path,
  document: ConfigDocument,
): Problem[] {
  return faults.map(({ path, message, hint, offset, length, atKey, about, code }) => {
    const full = [...prefix, ...path]
    const located = document.at(full)
    const hidden = located && !atKey ? hiddenValue(located, full) : undefined
    if (hidden !== undefined) return document.problem('invalid-condition', full, hidden)
    const cut = code === 'open-text' && cutByComment(located, offset)
    if (cut) return cut
    const placing = {
      ...(offset !== undefined && !isTagged(located) && { offset, length: length ?? 1 }),
      ...(atKey && { atKey }),
      ...(about !== undefined && { about }),
    }
    return document.problem('invalid-condition', full, withSubject(message, full), {
      ...placing,
      hint: isCutByComma(located) ? COMMA_HINT : hint,
    })
  })
}

/** Returns the message of a fault, which begins with a verb if it is about the value at the path. */
export function withSubject(message: string, path: Path): string {
  return /^(is|has|matches|begins|ends|gives|must)\b/.test(message) ? `${nameOf(path)} ${message}` : message
}

const UNKNOWN_TAG = /(?<!\S)!(?!!(?:str|int|float|bool|null)\s)\S*[ \t]+(?:&\S*[ \t]+)?$/

/** Returns whether YAML read a part of the text as a tag, which is reported at the value. */
function isTagged(located: Located | undefined): boolean {
  if (!located) return false
  const { text } = located.file
  return UNKNOWN_TAG.test(
    text.slice(Math.max(lineOf(text, located.start).start, located.start - 500), located.start),
  )
}

/** `if: event.message.contains("issue #12")`: YAML ends the text before the "#". */
function cutByComment(located: Located | undefined, offset = 0): Problem | undefined {
  if (typeof located?.value !== 'string' || located.placeOf === undefined) return undefined
  const { file, start, end, value } = located
  const [, blanks = '', comment] =
    /^([ \t]+)(#.*)/.exec(file.text.slice(end, lineOf(file.text, end).end)) ?? []
  const isPlain = file.text[start] === value[0]
  if (!isPlain || isTagged(located) || !comment?.includes(value[offset] ?? '')) return undefined
  const last = end + blanks.length + comment.trimEnd().length
  const hint = 'text with " #" needs quotes'
  const span = { file, start, end: last }
  return problemAt('yaml-comment', span, 'YAML ends this text at " #", where a comment begins', { hint })
}

/** `{ labels: a in (b, c) }`: inside braces YAML ends the text at the comma. */
function isCutByComma(located: Located | undefined): boolean {
  if (typeof located?.value !== 'string') return false
  const { value: text, file, start, end } = located
  const isPlain = file.text[start] === text[0]
  const isOpen = text.split('(').length > text.split(')').length && !/^\/.*\/$/.test(text)
  return isPlain && isOpen && /^\s*,/.test(file.text.slice(end, end + 40))
}
