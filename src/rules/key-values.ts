import { type Compiled, compiled, type Fault, under } from './fault.ts'
import { keyFault } from './label-syntax.ts'
import { compilePatterns, type Test } from './pattern.ts'
import type { KeyValues } from './schema.ts'
import { compileSelector, type Values } from './selector.ts'

/**
 * Compiles `labels` or `annotations`: a selector, or a map whose keys must all pass. A key that is not there passes
 * where only `!` patterns are asked, as with `notin`.
 */
export function compileKeyValues(
  wanted: KeyValues,
  options: { anyValue?: boolean } = {},
): Compiled<(values: Values) => boolean> {
  if (typeof wanted === 'string') return compileSelector(wanted, options)
  const faults: Fault[] = []
  const tests: { key: string; test: Test }[] = []
  for (const [key, patterns] of Object.entries(wanted)) {
    const fault = keyFault(key)
    if (fault) faults.push({ path: [key], message: `"${key}": ${fault}`, atKey: true })
    const test = compilePatterns(patterns)
    if (test.ok) tests.push({ key, test: test.value })
    else faults.push(...under([key], test.faults))
  }
  if (faults.length > 0) return { ok: false, faults }
  return compiled((values) =>
    tests.every(({ key, test }) => test(Object.hasOwn(values, key) ? values[key] : undefined)),
  )
}
