/** Another tool's configuration as it came from YAML: nothing in it can be relied on. */
export type Raw = Readonly<Record<string, unknown>>

export function mapOf(value: unknown): Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Raw) : {}
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]
}

export function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : ''
}

export function textsOf(value: unknown): string[] {
  return listOf(value)
    .map(textOf)
    .filter((text) => text !== '')
}

/** The namespaces that a key names, none for all; `off` says why they cannot be known. */
export function namespacesOf(value: unknown): { namespaces: string[]; off: string[] } {
  const namespaces = textsOf(value)
  const isRead = listOf(value).every((it) => typeof it === 'string')
  return { namespaces, off: isRead ? [] : ['namespace is neither a name nor a list of names'] }
}
