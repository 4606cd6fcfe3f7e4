const OTHERS = /[^a-zA-Z0-9._-]/

/** Why Kafka would refuse this name, or undefined. */
export function topicNameFault(name: string): string | undefined {
  if (name === '') return 'it is empty'
  if (name === '.' || name === '..') return 'it is "." or ".."'
  if (name.length > 249) return `it has ${name.length} characters, and 249 are the most`
  if (OTHERS.test(name)) return 'it has other characters than letters, digits, ".", "_" and "-"'
  return undefined
}

/** A hyphen takes the blanks beside it away. */
const MAX_SOURCE = 1_000
const OUTPUT = /(?:\s*\{\{-|\{\{)(?:"[^"]*"|'[^']*'|[^"'])*?(?:-\}\}\s*|\}\})/g

/** Why no name can come of a template, whatever is filled in; undefined where that depends on the object. */
export function literalFault(source: string): string | undefined {
  // With conditions, parts may be left out.
  if (source.includes('{%') || source.length > MAX_SOURCE) return undefined
  const literal = source.trim().replace(OUTPUT, '')
  if (literal.length > 249)
    return `it has ${literal.length} characters that are always there, and 249 are the most`
  const [other] = OTHERS.exec(literal) ?? []
  return other === undefined
    ? undefined
    : `${JSON.stringify(other)} is always in it, and only letters, digits, ".", "_" and "-" may be`
}
