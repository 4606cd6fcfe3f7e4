/**
 * The object that a field selector names, as the API server reads it: RBAC can then give `list` and `watch` of that object
 * alone. Undefined when it names none.
 */
export function objectNameOf(fieldSelector: string): string | undefined {
  for (const term of fieldSelector.split(',')) {
    const name = /^\s*metadata\.name\s*==?\s*([^\s!=\\/%]+)\s*$/.exec(term)?.[1]
    if (name !== undefined) return name === '.' || name === '..' ? undefined : name
  }
  return undefined
}
