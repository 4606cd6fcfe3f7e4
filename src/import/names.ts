/** Gives each thing a name of the configuration: a DNS label, and no name twice. */
export function namer(): (wanted: string) => string {
  const taken = new Set<string>()
  return (wanted) => {
    const base =
      wanted
        .toLowerCase()
        .replace(/[^a-z0-9]+/g, '-')
        .replace(/^-|-$/g, '')
        .slice(0, 50)
        .replace(/-$/, '') || 'unnamed'
    let name = base
    for (let i = 2; taken.has(name); i++) name = `${base}-${i}`
    taken.add(name)
    return name
  }
}

/** A secret is never written: `${env:…}` stands for it, or for the variable that was named already. */
export function secretOf(value: unknown, variable: string, notes: string[]): string {
  const [, named] = /^\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?$/.exec(String(value ?? '')) ?? []
  if (named) return `\${env:${named}}`
  if (value) notes.push(`the secret that stood here belongs into the environment: ${variable}`)
  return `\${env:${variable}}`
}

/** Texts with `${VAR}` of a shell in them. */
export function withVariables(value: unknown): string {
  return String(value ?? '').replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name) => `\${env:${name}}`)
}

/** A user, a query, or a part of the path that is no word. */
const SECRET_IN_URL = /\/\/[^/]*@|\?|\/[^/]{16,}|\/(?=[^/]*\d)(?=[^/]*[a-z])[^/]{8,}/i

/** Of a webhook: where its URL is the secret, `${env:…}` stands for all of it. */
export function urlOf(value: unknown, variable: string, notes: string[]): string {
  const text = withVariables(value)
  const literal = text.replace(/\$\{[^}$]*\}/g, '')
  return SECRET_IN_URL.test(literal.replace(/^\w+:\/\/[^/@?]*(?=[/?]|$)/, ''))
    ? secretOf(value, variable, notes)
    : text
}

export function environmentName(...parts: readonly string[]): string {
  return parts
    .join('_')
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
}
