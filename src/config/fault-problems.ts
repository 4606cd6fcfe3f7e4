import type { Fault } from '../rules/fault.ts'
import type { ConfigDocument, Path } from './document.ts'
import { COMMA_HINT, nameOf } from './issues.ts'
import type { Problem } from './problem.ts'

/** Faults of patterns and selectors, each at its place in the file. */
export function faultProblems(faults: readonly Fault[], prefix: Path, document: ConfigDocument): Problem[] {
  return faults.map(({ path, message, hint, offset, length, atKey }) => {
    const full = [...prefix, ...path]
    const located = document.at(full)
    if (located?.written !== undefined && located.secrets.length > 0 && !atKey) {
      return document.problem(full, `what ${located.written} stands for is not valid for ${nameOf(full)}`)
    }
    const placing = { ...(offset !== undefined && { offset, length: length ?? 1 }), ...(atKey && { atKey }) }
    const sentence = /^(is|has|matches|begins|ends|gives|must)\b/.test(message)
      ? `${nameOf(full)} ${message}`
      : message
    const better = message.includes('")" is missing') ? missingBracketHint(document, full) : undefined
    return document.problem(full, sentence, { ...placing, hint: better ?? hint })
  })
}

function missingBracketHint(document: ConfigDocument, path: Path): string | undefined {
  const after = document.textAfterKey(path)
  return /^["']/.test(after) || !after.includes(',') ? undefined : COMMA_HINT
}
