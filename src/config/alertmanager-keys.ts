import { By } from '../limits/by.ts'
import type { Located } from './located.ts'

/** Keys of Alertmanager that are parts of one here. */
const PARTS: ReadonlyMap<string, string> = new Map([
  ['group_by', 'by'],
  ['groupBy', 'by'],
  ['group_wait', 'wait'],
  ['groupWait', 'wait'],
  ['group_interval', 'interval'],
  ['groupInterval', 'interval'],
])

const EXAMPLES: Readonly<Record<string, string>> = {
  by: '[namespace, reason]',
  wait: '30s',
  interval: '5m',
}

export function isGroupingKey(key: string): boolean {
  return PARTS.has(key)
}

/** `group: { by: [namespace], wait: 30s }` for all of them together. */
export function groupHint(keys: readonly string[], rule: Located | undefined): string {
  const parts = new Map(
    keys.map((key): [string, string] => {
      const part = PARTS.get(key) ?? ''
      const value = rule?.entries?.get(key)?.value
      return [part, (part === 'by' ? byIn(value) : spanIn(value)) ?? EXAMPLES[part] ?? '']
    }),
  )
  const text = [...parts].map(([part, value]) => `${part}: ${value}`).join(', ')
  return rule?.entries?.has('group') ? `write into "group": ${text}` : `write group: { ${text} }`
}

/** `throttle: { every: 4h }` for `repeat_interval: 4h`. */
export function repeatHint(value: Located | undefined): string {
  return `write throttle: { every: ${spanIn(value) ?? '1h'} }`
}

/** The words that mean something here: labels of alerts are none. */
function byIn(found: Located | undefined): string | undefined {
  if (!found || found.written !== undefined || found.secrets.length > 0) return undefined
  const by = By.safeParse(found.value)
  return by.success ? `[${by.data.join(', ')}]` : undefined
}

function spanIn(found: Located | undefined): string | undefined {
  const text = found?.written === undefined ? found?.value : undefined
  return typeof text === 'string' && /^\d{1,6}[smhd]$/.test(text) ? text : undefined
}
