/** What is wrong with a field selector such as `status.phase!=Running,spec.nodeName=a` (apimachinery `fields.ParseSelector`). */
export function fieldSelectorFault(
  text: string,
): { message: string; offset: number; length: number } | undefined {
  let offset = 0
  for (const term of termsOf(text)) {
    const place = { offset, length: Math.max(term.length, 1) }
    const operator = /(?<!\\)(!=|==?)/.exec(term)
    if (!operator)
      return { message: `"${term.trim()}" compares nothing: write field=value or field!=value`, ...place }
    if (operator.index === 0 || term.slice(0, operator.index).trim() === '') {
      return { message: `a field is missing before "${operator[0]}"`, ...place }
    }
    offset += term.length + 1
  }
  return undefined
}

/** Splits at commas that no backslash escapes. */
function termsOf(text: string): string[] {
  return text.split(/(?<=(?<!\\)(?:\\\\)*),/).map((term) => term.replace(/,$/, ''))
}
