/** What is written where an optional stands that should have been a value: `object.spec.?a` → `.orValue("")`. */
export function optionalHint(
  left: string,
  right: string,
  written: string,
  operator: string,
): string | undefined {
  const [isLeft, isRight] = [left, right].map(isOptional)
  if (!isLeft && !isRight) return undefined
  const paths = optionalsIn(written)
  const other = isLeft ? right : left
  if (/^null/.test(other)) return `write ${operator === '==' ? '!' : ''}${paths[0] ?? 'x.?field'}.hasValue()`
  const otherwise = isOptional(other) ? '""' : (EMPTY.find(([type]) => type.test(other))?.[1] ?? '""')
  const named = paths.length > 0 ? paths.slice(0, 2) : ['x.?field']
  return `write ${named.map((path) => `${path}.orValue(${otherwise})`).join(' and ')}, or another value for what is not there`
}

/** The same before a method, or in a function. */
export function optionalArgumentHint(
  receiver: string | undefined,
  args: string,
  written: string,
): string | undefined {
  if (![receiver ?? '', ...args.split(', ')].some(isOptional)) return undefined
  const [path = 'x.?field'] = optionalsIn(written)
  return `write ${path}.orValue("") instead of ${path}; of a list orValue([])`
}

/** `!object.spec.?paused`, `object.spec.?paused && …`. */
export function optionalConditionHint(type: string, written: string): string | undefined {
  if (!isOptional(type)) return undefined
  const [path = 'x.?field'] = optionalsIn(written)
  return `write ${path}.orValue(false); ${path}.hasValue() tells whether it is there`
}

const EMPTY: readonly (readonly [RegExp, string])[] = [
  [/^(int|uint)\b/, '0'],
  [/^double\b/, '0.0'],
  [/^bool\b/, 'false'],
  [/timestamp/i, 'timestamp("2026-01-01T00:00:00Z")'],
]

const MAX_TEXT = 500

/** `optional<dyn>`: it may be none. */
export function isOptional(type: string): boolean {
  return /^optional\b/.test(type)
}

/** `object.?a.b[?"c"]` as they are written. */
export function optionalsIn(text: string): string[] {
  const paths =
    text
      .slice(-MAX_TEXT)
      .match(/\b[A-Za-z_]\w*(?:\s*(?:\.\s*\??\s*[A-Za-z_]\w*(?![\w(])|\[\s*\??[^\]]*\]))+/g) ?? []
  return paths.filter((path) => /\.\s*\?|\[\s*\?/.test(path))
}
