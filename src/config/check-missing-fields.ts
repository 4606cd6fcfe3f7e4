import { pathsInExpression } from '../rules/cel/paths-in.ts'
import type { ConfigDocument } from './document.ts'
import type { Draft } from './draft.ts'
import type { Problem } from './problem.ts'

const KEY = /^metadata\.(labels|annotations)(?:\.(\w+)|\[(["'])([^"']+)\3\])$/

/** Labels and annotations that an `if` reads and does not ask for first: without them it ends in an error. */
export function checkMissingFields({ rules }: Draft, document: ConfigDocument): Problem[] {
  return rules.flatMap(({ index, if: text, onError }) => {
    if (text === undefined || onError === 'deliver' || !/labels|annotations/.test(text)) return []
    const told = new Set<string>()
    return pathsInExpression(text).flatMap(({ path, offset }) => {
      const [, map, name, , quoted] = KEY.exec(path) ?? []
      const key = name ?? quoted
      if (map === undefined || key === undefined || told.has(path) || isAskedFor(text, map)) return []
      told.add(path)
      const optional = `object.metadata.?${map}${name === undefined ? `[?"${key}"]` : `.${key}`}.orValue("")`
      const message = `not every object has this ${map === 'labels' ? 'label' : 'annotation'}, and without it the rule ends in an error`
      return [
        document.problem(['rules', index, 'if'], message, {
          offset,
          length: path.length,
          hint: `write ${optional}, or ask in "when": ${map}: { ${quoteKey(key)}: … }`,
          severity: 'warning',
        }),
      ]
    })
  })
}

function isAskedFor(text: string, map: string): boolean {
  const path = `[oO]bject\\s*\\.\\s*metadata\\s*\\.\\s*\\??${map}`
  return new RegExp(`(\\bhas\\s*\\(\\s*(old)?|\\bin\\s+(old)?)${path}`, 'i').test(text)
}

function quoteKey(key: string): string {
  return /^[A-Za-z][\w./-]*$/.test(key) ? key : `"${key}"`
}
