import type { Fault } from '../rules/fault.ts'
import { type ConfigDocument, type Path, problemAt } from './document.ts'
import { COMMA_HINT, nameOf } from './issues.ts'
import type { Located } from './located.ts'
import type { Problem } from './problem.ts'
import { lineOf, quoted } from './yaml/text.ts'

/** Faults of patterns and selectors, each at its place in the file. */
export function faultProblems(faults: readonly Fault[], prefix: Path, document: ConfigDocument): Problem[] {
  return faults.map(({ path, message, hint, offset, length, atKey }) => {
    const full = [...prefix, ...path]
    const located = document.at(full)
    if (located?.written !== undefined && located.secrets.length > 0 && !atKey) {
      return document.problem(full, `what ${located.written} stands for is not valid for ${nameOf(full)}`)
    }
    const cut = message.endsWith('without its closing quote') && cutByComment(located, offset, full)
    if (cut) return cut
    const placing = {
      ...(offset !== undefined && !isTagged(located) && { offset, length: length ?? 1 }),
      ...(atKey && { atKey }),
    }
    const sentence = /^(is|has|matches|begins|ends|gives|must)\b/.test(message)
      ? `${nameOf(full)} ${message}`
      : message
    const better = message.includes('")" is missing') ? missingBracketHint(document, full) : undefined
    return document.problem(full, sentence, {
      ...placing,
      hint: full.at(-1) === 'if' ? withinQuotes(better ?? hint, located) : (better ?? hint),
    })
  })
}

const UNKNOWN_TAG = /(?<!\S)!(?!!(?:str|int|float|bool|null)\s)\S*[ \t]+(?:&\S*[ \t]+)?$/

/** A part of the text that was taken for a tag; that is told already, at the place of the value. */
function isTagged(located: Located | undefined): boolean {
  if (!located) return false
  const { text } = located.file
  return UNKNOWN_TAG.test(
    text.slice(Math.max(lineOf(text, located.start).start, located.start - 500), located.start),
  )
}

/** `if: event.message.contains("issue #12")`: YAML ends the text before the "#". */
function cutByComment(located: Located | undefined, offset = 0, path: Path): Problem | undefined {
  if (typeof located?.value !== 'string' || located.placeOf === undefined) return undefined
  const { file, start, end, value } = located
  const [, blanks = '', comment] =
    /^([ \t]+)(#.*)/.exec(file.text.slice(end, lineOf(file.text, end).end)) ?? []
  const isPlain = file.text[start] === value[0]
  if (!isPlain || isTagged(located) || !comment?.includes(value[offset] ?? '')) return undefined
  const last = end + blanks.length + comment.trimEnd().length
  const whole = file.text.slice(start, last).replaceAll(/(?<![ \t])[ \t]*\r?\n\s*/g, ' ')
  const hint = `write ${String(path.at(-1))}: ${quoted(whole)}`
  return problemAt({ file, start, end: last }, 'YAML ends this text at " #", where a comment begins', {
    hint,
  })
}

/** What is written into an expression that stands in double quotes has single ones. */
export function withinQuotes(hint: string | undefined, located: Located | undefined): string | undefined {
  const isDouble = located?.written === undefined && located?.file.text[located.start] === '"'
  const isExpression = hint !== undefined && /^write (?!if: ).*[\w\])]/.test(hint) && !hint.includes("'")
  return isDouble && isExpression && hint.includes('"') ? hint.replaceAll('"', "'") : hint
}

function missingBracketHint(document: ConfigDocument, path: Path): string | undefined {
  const after = document.textAfterKey(path)
  const isCut =
    !/^["'|>]/.test(after) && after.includes(',') && !String(document.at(path)?.value).includes(',')
  return isCut ? COMMA_HINT : undefined
}
