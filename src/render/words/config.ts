import type { FieldChange } from '../../event.ts'
import { isKnown, keysChanged } from './changes.ts'
import { field } from './meta.ts'
import { at, keys, text } from './read.ts'
import type { Draft, Teller, Told } from './told.ts'
import { listed, oneLine } from './wording.ts'

export const configMap: Teller = { wanted, state, created, fields }

/** Like a ConfigMap; only the names of its keys are ever told. */
export const secret: Teller = { ...configMap, shown: withoutValues }

const MAPS = ['data', 'binaryData', 'stringData']

function wanted(told: Told, changes: readonly FieldChange[]): Draft | undefined {
  const all = MAPS.map((map) => keysChanged(told, map))
  const of = (what: 'added' | 'changed' | 'removed') => [...new Set(all.flatMap((it) => it[what]))].map(key)
  const parts = [keyed('', of('changed')), keyed('added ', of('added')), keyed('removed ', of('removed'))]
  if (changes.some(({ path, new: now }) => path === 'immutable' && now === true)) parts.push('made immutable')
  const said = parts.filter((it) => it !== '')
  return said.length > 0 ? { severity: 'info', says: ` changed: ${said.join('; ')}` } : undefined
}

function keyed(what: string, names: readonly string[]): string {
  if (names.length === 0) return ''
  return `${what}${names.length === 1 ? 'key' : 'keys'} ${listed(names, 5)}`
}

function key(name: string): string {
  return oneLine(name, 60)
}

function keysIn({ object }: Told): string[] {
  return [...new Set(MAPS.flatMap((map) => keys(object, map)))].map(key)
}

function state(told: Told): Draft | undefined {
  const names = keysIn(told)
  if (isKnown(told)) return undefined
  return {
    severity: 'info',
    says: ' changed',
    text: names.length > 0 ? `Its keys: ${listed(names, 10)}.` : '',
  }
}

function created(told: Told): string {
  const names = keysIn(told)
  return names.length > 0 ? `Its keys: ${listed(names, 10)}.` : ''
}

function fields({ object }: Told) {
  return [
    field('Type', text(object, 'type')),
    field('Immutable', at(object, 'immutable') === true ? 'yes' : ''),
  ]
}

/** Whatever a Secret's change holds: hashes stay, and nothing else. */
function withoutValues(changes: readonly FieldChange[]): readonly FieldChange[] {
  return changes.map((it) => {
    if (
      !MAPS.some((map) => it.path === map || it.path.startsWith(`${map}.`) || it.path.startsWith(`${map}[`))
    )
      return it
    const { path, old, new: now } = it
    return {
      path,
      ...(old !== undefined && { old: hashed(old) }),
      ...(now !== undefined && { new: hashed(now) }),
    }
  })
}

function hashed(value: unknown): string {
  return typeof value === 'string' && /^(?:sha256:[0-9a-f]{1,64}|\*+)$/.test(value) ? value : '…'
}
