import { changeAt, isKnown } from './changes.ts'
import { conditionOf } from './conditions.ts'
import { field } from './meta.ts'
import { text, texts } from './read.ts'
import type { Draft, Teller, Told } from './told.ts'
import { because } from './wording.ts'

export const claim: Teller = {
  trouble(told) {
    if (text(told.object, 'status', 'phase') === 'Lost') {
      const says = ` lost its volume ${text(told.object, 'spec', 'volumeName')}`.trimEnd()
      return { severity: 'error', says, text: 'The data on it may be gone.' }
    }
    for (const type of ['ControllerResizeError', 'NodeResizeError', 'ModifyVolumeError']) {
      const failed = conditionOf(told, type)
      if (failed?.status !== 'True') continue
      const says = ` cannot be changed${because(failed.message)}`
      return { severity: 'warning', says, quote: failed.message, fields: [field('Since', failed.since)] }
    }
    return undefined
  },
  wanted(told) {
    if (changeAt(told, 'spec.volumeName')) return claimState(told)
    const size = changeAt(told, 'spec.resources.requests.storage')
    if (!size || text(size.old) === '' || text(size.new) === '') return undefined
    return { severity: 'info', says: ` asks for ${text(size.new)}, before: ${text(size.old)}` }
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

function capacity(object: Told['object']): string {
  return text(object, 'status', 'capacity', 'storage')
}

function claimState(told: Told): Draft | undefined {
  const { object } = told
  const grown = changeAt(told, 'status.capacity.storage')
  if (grown && text(grown.old) && text(grown.new)) {
    return { severity: 'info', says: ` grew from ${text(grown.old)} to ${text(grown.new)}` }
  }
  const resizing = conditionOf(told, 'FileSystemResizePending') ?? conditionOf(told, 'Resizing')
  if (resizing?.status === 'True') {
    const waits = resizing.type === 'FileSystemResizePending'
    return {
      severity: 'info',
      says: waits ? ' waits for a pod to grow its file system' : ' is being resized',
    }
  }
  const phase = text(object, 'status', 'phase')
  const volume = text(object, 'spec', 'volumeName')
  const size = capacity(object)
  if (phase === 'Bound') {
    const again = text(changeAt(told, 'status.phase')?.old) === 'Lost'
    const says = ` is bound${again ? ' again' : ''}${volume && ` to ${volume}`}${size && `, ${size}`}`
    return { severity: again ? 'resolved' : 'info', says }
  }
  if (phase !== 'Pending') return undefined
  return {
    severity: 'info',
    says: volume === '' ? ' is pending: it has no volume yet' : ` gets the volume ${volume}`,
  }
}

export const volume: Teller = {
  trouble({ object }) {
    if (text(object, 'status', 'phase') !== 'Failed') return undefined
    const quote = text(object, 'status', 'message')
    return { severity: 'error', says: ` failed${because(quote)}`, quote }
  },
  state(told) {
    const { object } = told
    const phase = text(object, 'status', 'phase')
    const claim = claimOf(object)
    const old = text(changeAt(told, 'status.phase')?.old)
    if (isKnown(told) && old === '') return undefined
    const severity = old === 'Failed' ? 'resolved' : 'info'
    if (phase === 'Bound') return { severity, says: ` is bound${claim && ` to ${claim}`}` }
    if (phase === 'Released') {
      const policy = text(object, 'spec', 'persistentVolumeReclaimPolicy')
      return {
        severity,
        says: ` was released${claim && ` by ${claim}`}`,
        text: policy === 'Retain' ? 'Its data is kept.' : '',
      }
    }
    return phase === 'Available' ? { severity, says: ' is available' } : undefined
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

function claimOf(object: Told['object']): string {
  const name = text(object, 'spec', 'claimRef', 'name')
  return name && `${text(object, 'spec', 'claimRef', 'namespace')}/${name}`
}
