import type { FieldChange } from '../../model/event.ts'
import type { Field } from '../../sink/index.ts'
import {
  arrow,
  type Condition,
  changeAt,
  changesOf,
  conditionOf,
  conditionsOf,
  flipOf,
  isKnown,
  isNoise,
} from './changes.ts'
import { because, duration, kubectl, listed, quoted, sentence, targetOf } from './phrasing.ts'
import {
  agoMs,
  at,
  type Draft,
  field,
  isSettled,
  keys,
  list,
  type Summarizer,
  type SummaryInput,
  text,
  timeMs,
} from './summarizer.ts'

export const node: Summarizer = {
  trouble(input) {
    return notReady(input) ?? pressure(input)
  },
  wanted,
  state(input) {
    return recovered(input) ?? relieved(input) ?? asItIs(input)
  },
  fields,
  command(input) {
    const { name } = input.event
    const ready = conditionOf(input, 'Ready')?.status === 'True'
    return ready ? '' : kubectl(targetOf(input), 'describe', 'node', quoted(name))
  },
}

function notReady(input: SummaryInput): Draft | undefined {
  const ready = conditionOf(input, 'Ready')
  if (!ready || ready.status === 'True' || isNew(input, ready)) return undefined
  const why = ready.status === 'Unknown' ? ': its kubelet does not answer' : because(ready.message, 80)
  const ago = agoMs(input, ready.since)
  const text = ago !== undefined && ago > 60_000 ? `It has not been ready for ${duration(ago)}.` : ''
  return {
    severity: 'error',
    phrase: ` is not ready${why}`,
    text,
    quote: ready.message,
    fields: about(ready),
  }
}

/** A kubelet that just started has no network yet. */
function isNew(input: SummaryInput, { status, reason }: Condition): boolean {
  const isStarting = status === 'False' && reason === 'KubeletNotReady' && !isSettled(input)
  return isStarting && flipOf(input, 'Ready')?.old !== 'True'
}

const PRESSURES = new Map([
  ['MemoryPressure', 'low on memory'],
  ['DiskPressure', 'low on disk space'],
  ['PIDPressure', 'low on process IDs'],
  ['NetworkUnavailable', 'without a network'],
])

/** Returns the bad status of a condition: False for those of agents such as that of EKS, KernelReady and StorageReady; True for others. */
function badStatus(type: string): 'True' | 'False' {
  return /(?:Ready|Healthy|Available)$/.test(type) ? 'False' : 'True'
}

/** Conditions except Ready that are bad; those of node-problem-detector, too. */
function pressure(input: SummaryInput): Draft | undefined {
  const bad = conditionsOf(input).filter((it) => it.type !== 'Ready' && it.status === badStatus(it.type))
  const known = bad.filter((it) => PRESSURES.has(it.type))
  const others = bad.filter((it) => !PRESSURES.has(it.type) && flipOf(input, it.type))
  const worst = known[0] ?? others[0]
  if (!worst) return undefined
  const phrase = PRESSURES.has(worst.type)
    ? ` is ${known.map((it) => PRESSURES.get(it.type)).join(' and ')}`
    : ` has a problem: ${worst.type}${worst.status === 'False' ? ' is False' : ''}${because(worst.message, 80)}`
  return { severity: 'warning', phrase, quote: worst.message, fields: about(worst) }
}

function about({ reason, since }: Condition): Field[] {
  return [field('Reason', reason), field('Since', since)]
}

function recovered(input: SummaryInput): Draft | undefined {
  const ready = conditionOf(input, 'Ready')
  const flip = flipOf(input, 'Ready')
  if (ready?.status !== 'True' || !flip) return undefined
  const times = changeAt(input, 'status.conditions[type=Ready].lastTransitionTime')
  const [from, to] = [timeMs(times?.old), timeMs(times?.new)]
  const created = timeMs(input.object, 'metadata', 'creationTimestamp')
  // A kubelet registers its node as not ready.
  const wasReady = from !== undefined && created !== undefined && from - created >= 5_000
  if (!wasReady && !isSettled(input)) return { severity: 'info', phrase: ' is ready' }
  const text =
    from !== undefined && to !== undefined && to > from ? `It was not ready for ${duration(to - from)}.` : ''
  return { severity: 'resolved', phrase: ' is ready again', text }
}

function relieved(input: SummaryInput): Draft | undefined {
  const over = conditionsOf(input).filter((it) => {
    const isGood =
      it.type !== 'Ready' && /^(?:True|False)$/.test(it.status) && it.status !== badStatus(it.type)
    const old = isGood ? flipOf(input, it.type)?.old : undefined
    return old === badStatus(it.type) || (old === '' && isSettled(input))
  })
  const [first] = over
  if (!first) return undefined
  if (first.status === 'True') return { severity: 'resolved', phrase: `: ${first.type} is True again` }
  const ended = over.filter(({ status }) => status === 'False')
  const phrase = ended.map((it) => PRESSURES.get(it.type) ?? `troubled by ${it.type}`).join(' and ')
  return { severity: 'resolved', phrase: ` is no longer ${phrase}` }
}

function asItIs(input: SummaryInput): Draft | undefined {
  const ready = conditionOf(input, 'Ready')
  if (!ready) return undefined
  if (ready.status !== 'True')
    return { severity: 'info', phrase: ' is starting', text: sentence(ready.message) }
  const cordoned = at(input.object, 'spec', 'unschedulable') === true
  const how = cordoned ? ' is ready, but cordoned' : ' is ready'
  const changes = changesOf(input)
  if (!isKnown(input)) return { severity: 'info', phrase: how }
  if (changes.every(isNoise)) return { severity: 'info', phrase: ` sent a heartbeat, it${how}` }
  const kubelet = changeAt(input, 'status.nodeInfo.kubeletVersion')
  return kubelet ? { severity: 'info', phrase: ` has another kubelet: ${arrow(kubelet)}` } : undefined
}

function wanted(input: SummaryInput, changes: readonly FieldChange[]): Draft | undefined {
  const cordon = changes.find(({ path }) => path === 'spec.unschedulable')
  if (cordon) {
    return cordon.new === true
      ? { severity: 'info', phrase: ' was cordoned: it takes no new pods' }
      : { severity: 'info', phrase: ' was uncordoned: it takes pods again' }
  }
  const taints = changes.filter(({ path }) => path.startsWith('spec.taints'))
  if (taints.length === 0 || taints.length < changes.length) return undefined
  const names = list(input.object, 'spec', 'taints').map((it) => `${text(it, 'key')}:${text(it, 'effect')}`)
  const now = names.length > 0 ? `now ${listed(names, 3)}` : 'none is left'
  return { severity: 'info', phrase: ` changed its taints: ${now}` }
}

function fields(input: SummaryInput): Field[] {
  const { object } = input
  const labels = keys(object, 'metadata', 'labels')
  const roles = labels
    .filter((it) => it.startsWith('node-role.kubernetes.io/'))
    .map((it) => it.slice('node-role.kubernetes.io/'.length))
  const kubelet = changeAt(input, 'status.nodeInfo.kubeletVersion')
  return [
    field('Role', listed(roles, 3)),
    field('Zone', text(object, 'metadata', 'labels', 'topology.kubernetes.io/zone')),
    field('Type', text(object, 'metadata', 'labels', 'node.kubernetes.io/instance-type')),
    field('Kubelet', kubelet ? arrow(kubelet) : text(object, 'status', 'nodeInfo', 'kubeletVersion')),
  ]
}

export const namespace: Summarizer = {
  ending: (input) => stuck(input) ?? ending(input),
}

function stuck(input: SummaryInput): Draft | undefined {
  for (const type of STUCK) {
    const condition = conditionOf(input, type)
    if (condition?.status !== 'True') continue
    const phrase = ` cannot be deleted${because(condition.message)}`
    const fields = [field('Reason', condition.reason), field('Since', condition.since)]
    return { severity: 'warning', phrase, quote: condition.message, fields }
  }
  return undefined
}

const STUCK = [
  'NamespaceDeletionDiscoveryFailure',
  'NamespaceDeletionGroupVersionParsingFailure',
  'NamespaceDeletionContentFailure',
]

function ending(input: SummaryInput): Draft {
  const left = ['NamespaceFinalizersRemaining', 'NamespaceContentRemaining']
    .map((type) => conditionOf(input, type))
    .find((it) => it?.status === 'True')
  return { severity: 'info', phrase: ' is being deleted', text: sentence(left?.message ?? '') }
}

export const definition: Summarizer = {
  trouble(input) {
    for (const type of ['NamesAccepted', 'Established']) {
      const condition = conditionOf(input, type)
      if (
        condition?.status !== 'False' ||
        condition.reason === 'Installing' ||
        condition.reason === 'NotAccepted'
      )
        continue
      const phrase = type === 'NamesAccepted' ? ' has names that are taken' : ' is not established'
      return { severity: 'warning', phrase: phrase + because(condition.message), quote: condition.message }
    }
    return undefined
  },
  wanted(_input, changes) {
    if (!changes.some(({ path }) => path.startsWith('spec.versions'))) return undefined
    return { severity: 'info', phrase: ' changed its versions or their schemas' }
  },
  state(input) {
    if (conditionOf(input, 'Established')?.status !== 'True') return undefined
    const flip = flipOf(input, 'Established')
    if (isKnown(input) && !flip) return undefined
    return { severity: 'info', phrase: ' is established', text: `${kindOf(input.object)} can be used now.` }
  },
  created: ({ object }) => `Brings the kind ${kindOf(object)}.`,
  fields: ({ object }) => [
    field('Kind', text(object, 'spec', 'names', 'kind')),
    field('Versions', versions(object)),
    field('Scope', text(object, 'spec', 'scope')),
  ],
}

function kindOf(object: SummaryInput['object']): string {
  return text(object, 'spec', 'names', 'kind') || 'Its kind'
}

function versions(object: SummaryInput['object']): string {
  return listed(
    list(object, 'spec', 'versions').map(
      (it) => `${text(it, 'name')}${at(it, 'served') === false ? ' (not served)' : ''}`,
    ),
  )
}
