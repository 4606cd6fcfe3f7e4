import type { FieldChange } from '../../model/event.ts'
import { changeAt, conditionOf, isKnown, keysChanged } from './changes.ts'
import { because, listed, oneLine } from './phrasing.ts'
import {
  at,
  type Draft,
  field,
  isHeld,
  keys,
  type Summarizer,
  type SummaryInput,
  text,
  texts,
} from './summarizer.ts'

export const claim: Summarizer = {
  trouble(input) {
    if (text(input.object, 'status', 'phase') === 'Lost') {
      const phrase = ` lost its volume ${text(input.object, 'spec', 'volumeName')}`.trimEnd()
      return { severity: 'error', phrase, text: 'The data on it may be gone.' }
    }
    for (const type of ['ControllerResizeError', 'NodeResizeError', 'ModifyVolumeError']) {
      const failed = conditionOf(input, type)
      if (failed?.status !== 'True') continue
      const phrase = ` cannot be changed${because(failed.message)}`
      return { severity: 'warning', phrase, quote: failed.message, fields: [field('Since', failed.since)] }
    }
    return undefined
  },
  wanted(input) {
    if (changeAt(input, 'spec.volumeName')) return claimState(input)
    const size = changeAt(input, 'spec.resources.requests.storage')
    if (!size || text(size.old) === '' || text(size.new) === '') return undefined
    return { severity: 'info', phrase: ` asks for ${text(size.new)}, before: ${text(size.old)}` }
  },
  state: claimState,
  created({ object }) {
    const size = text(object, 'spec', 'resources', 'requests', 'storage')
    const of = text(object, 'spec', 'storageClassName')
    return size && `Asks for ${size}${of && ` of ${of}`}.`
  },
  fields({ object }) {
    return [
      field('Size', capacity(object) || text(object, 'spec', 'resources', 'requests', 'storage')),
      field('Volume', text(object, 'spec', 'volumeName')),
      field('Storage class', text(object, 'spec', 'storageClassName')),
      field('Access', texts(object, 'spec', 'accessModes').join(', ')),
    ]
  },
}

function capacity(object: SummaryInput['object']): string {
  return text(object, 'status', 'capacity', 'storage')
}

function claimState(input: SummaryInput): Draft | undefined {
  const { object } = input
  const grown = changeAt(input, 'status.capacity.storage')
  if (grown && text(grown.old) && text(grown.new)) {
    return { severity: 'info', phrase: ` grew from ${text(grown.old)} to ${text(grown.new)}` }
  }
  const resizing = conditionOf(input, 'FileSystemResizePending') ?? conditionOf(input, 'Resizing')
  if (resizing?.status === 'True') {
    const waits = resizing.type === 'FileSystemResizePending'
    return {
      severity: 'info',
      phrase: waits ? ' waits for a pod to grow its file system' : ' is being resized',
    }
  }
  const phase = text(object, 'status', 'phase')
  const volume = text(object, 'spec', 'volumeName')
  const size = capacity(object)
  if (phase === 'Bound') {
    const again = text(changeAt(input, 'status.phase')?.old) === 'Lost'
    const phrase = ` is bound${again ? ' again' : ''}${volume && ` to ${volume}`}${size && `, ${size}`}`
    return { severity: again ? 'resolved' : 'info', phrase }
  }
  if (phase !== 'Pending') return undefined
  return {
    severity: volume === '' && isHeld(input) ? 'warning' : 'info',
    phrase: volume === '' ? ' is pending: it has no volume yet' : ` gets the volume ${volume}`,
  }
}

export const volume: Summarizer = {
  trouble({ object }) {
    if (text(object, 'status', 'phase') !== 'Failed') return undefined
    const quote = text(object, 'status', 'message')
    return { severity: 'error', phrase: ` failed${because(quote)}`, quote }
  },
  state(input) {
    const { object } = input
    const phase = text(object, 'status', 'phase')
    const claim = claimOf(object)
    const old = text(changeAt(input, 'status.phase')?.old)
    if (isKnown(input) && old === '') return undefined
    const severity = old === 'Failed' ? 'resolved' : 'info'
    if (phase === 'Bound') return { severity, phrase: ` is bound${claim && ` to ${claim}`}` }
    if (phase === 'Released') {
      const policy = text(object, 'spec', 'persistentVolumeReclaimPolicy')
      return {
        severity,
        phrase: ` was released${claim && ` by ${claim}`}`,
        text: policy === 'Retain' ? 'Its data is kept.' : '',
      }
    }
    return phase === 'Available' ? { severity, phrase: ' is available' } : undefined
  },
  fields({ object }) {
    return [
      field('Size', text(object, 'spec', 'capacity', 'storage')),
      field('Claim', claimOf(object)),
      field('Storage class', text(object, 'spec', 'storageClassName')),
      field('Reclaim policy', text(object, 'spec', 'persistentVolumeReclaimPolicy')),
    ]
  },
}

function claimOf(object: SummaryInput['object']): string {
  const name = text(object, 'spec', 'claimRef', 'name')
  return name && `${text(object, 'spec', 'claimRef', 'namespace')}/${name}`
}

export const configMap: Summarizer = { wanted, state, created, fields }

/** Like a ConfigMap; only the names of its keys are shown. */
export const secret: Summarizer = { ...configMap, shown: withoutValues }

const MAPS = ['data', 'binaryData', 'stringData']

function wanted(input: SummaryInput, changes: readonly FieldChange[]): Draft | undefined {
  const all = MAPS.map((map) => keysChanged(input, map))
  const of = (what: 'added' | 'changed' | 'removed') => [...new Set(all.flatMap((it) => it[what]))].map(key)
  const parts = [keyed('', of('changed')), keyed('added ', of('added')), keyed('removed ', of('removed'))]
  if (changes.some(({ path, new: now }) => path === 'immutable' && now === true)) parts.push('made immutable')
  const said = parts.filter((it) => it !== '')
  return said.length > 0 ? { severity: 'info', phrase: ` changed: ${said.join('; ')}` } : undefined
}

function keyed(what: string, names: readonly string[]): string {
  if (names.length === 0) return ''
  return `${what}${names.length === 1 ? 'key' : 'keys'} ${listed(names, 5)}`
}

function key(name: string): string {
  return oneLine(name, 60)
}

function keysIn({ object }: SummaryInput): string[] {
  return [...new Set(MAPS.flatMap((map) => keys(object, map)))].map(key)
}

function state(input: SummaryInput): Draft | undefined {
  const names = keysIn(input)
  if (isKnown(input)) return undefined
  return {
    severity: 'info',
    phrase: ' changed',
    text: names.length > 0 ? `Its keys: ${listed(names, 10)}.` : '',
  }
}

function created(input: SummaryInput): string {
  const names = keysIn(input)
  return names.length > 0 ? `Its keys: ${listed(names, 10)}.` : ''
}

function fields({ object }: SummaryInput) {
  return [
    field('Type', text(object, 'type')),
    field('Immutable', at(object, 'immutable') === true ? 'yes' : ''),
  ]
}

/** Returns the changes of a Secret with hashes instead of values. */
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
