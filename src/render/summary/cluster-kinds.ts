import type { FieldChange } from '../../event.ts'
import type { Field } from '../../sink/index.ts'
import { arrow, changeAt, changesOf, isKnown, isNoise } from './changes.ts'
import { kubectl, quoted, targetOf } from './command.ts'
import { type Condition, conditionOf, conditionsOf, flipOf } from './conditions.ts'
import { agoMs, field, isSettled } from './meta.ts'
import { at, keys, list, text, timeMs } from './read.ts'
import type { Draft, Teller, Told } from './told.ts'
import { because, duration, listed, sentence } from './wording.ts'

export const node: Teller = {
  trouble(told) {
    return notReady(told) ?? pressure(told)
  },
  wanted,
  state(told) {
    return recovered(told) ?? relieved(told) ?? asItIs(told)
  },
  fields,
  command(told) {
    const { name } = told.event
    const ready = conditionOf(told, 'Ready')?.status === 'True'
    return ready ? '' : kubectl(targetOf(told), 'describe', 'node', quoted(name))
  },
}

function notReady(told: Told): Draft | undefined {
  const ready = conditionOf(told, 'Ready')
  if (!ready || ready.status === 'True' || (ready.status === 'False' && !isSettled(told) && isNew(ready))) {
    return undefined
  }
  const why = ready.status === 'Unknown' ? ': its kubelet does not answer' : because(ready.message, 80)
  const ago = agoMs(told, ready.since)
  const text = ago !== undefined && ago > 60_000 ? `It has not been ready for ${duration(ago)}.` : ''
  return { severity: 'error', says: ` is not ready${why}`, text, quote: ready.message, fields: about(ready) }
}

/** A kubelet that just started has no network yet. */
function isNew({ reason }: Condition): boolean {
  return reason === 'KubeletNotReady'
}

const PRESSURES = new Map([
  ['MemoryPressure', 'low on memory'],
  ['DiskPressure', 'low on disk space'],
  ['PIDPressure', 'low on process IDs'],
  ['NetworkUnavailable', 'without a network'],
])

/** Conditions that are bad when they are True; those of node-problem-detector, too. */
function pressure(told: Told): Draft | undefined {
  const bad = conditionsOf(told).filter((it) => it.type !== 'Ready' && it.status === 'True')
  const known = bad.filter((it) => PRESSURES.has(it.type))
  const others = bad.filter((it) => !PRESSURES.has(it.type) && flipOf(told, it.type))
  const worst = known[0] ?? others[0]
  if (!worst) return undefined
  const says = PRESSURES.has(worst.type)
    ? ` is ${known.map((it) => PRESSURES.get(it.type)).join(' and ')}`
    : ` has a problem: ${worst.type}${because(worst.message, 80)}`
  return { severity: 'warning', says, quote: worst.message, fields: about(worst) }
}

function about({ reason, since }: Condition): Field[] {
  return [field('Reason', reason), field('Since', since)]
}

function recovered(told: Told): Draft | undefined {
  const ready = conditionOf(told, 'Ready')
  const flip = flipOf(told, 'Ready')
  if (ready?.status !== 'True' || !flip) return undefined
  if (!isSettled(told)) return { severity: 'info', says: ' is ready' }
  const times = changeAt(told, 'status.conditions[type=Ready].lastTransitionTime')
  const [from, to] = [timeMs(times?.old), timeMs(times?.new)]
  const text =
    from !== undefined && to !== undefined && to > from ? `It was not ready for ${duration(to - from)}.` : ''
  return { severity: 'resolved', says: ' is ready again', text }
}

function relieved(told: Told): Draft | undefined {
  const over = conditionsOf(told).filter((it) => {
    const old = it.type !== 'Ready' && it.status === 'False' ? flipOf(told, it.type)?.old : undefined
    return old === 'True' || (old === '' && isSettled(told))
  })
  if (over.length === 0) return undefined
  const says = over.map((it) => PRESSURES.get(it.type) ?? `troubled by ${it.type}`).join(' and ')
  return { severity: 'resolved', says: ` is no longer ${says}` }
}

function asItIs(told: Told): Draft | undefined {
  const ready = conditionOf(told, 'Ready')
  if (!ready) return undefined
  if (ready.status !== 'True')
    return { severity: 'info', says: ' is starting', text: sentence(ready.message) }
  const cordoned = at(told.object, 'spec', 'unschedulable') === true
  const how = cordoned ? ' is ready, but cordoned' : ' is ready'
  const changes = changesOf(told)
  if (!isKnown(told)) return { severity: 'info', says: how }
  if (changes.every(isNoise)) return { severity: 'info', says: ` sent a heartbeat, it${how}` }
  const kubelet = changeAt(told, 'status.nodeInfo.kubeletVersion')
  return kubelet ? { severity: 'info', says: ` has another kubelet: ${arrow(kubelet)}` } : undefined
}

function wanted(told: Told, changes: readonly FieldChange[]): Draft | undefined {
  const cordon = changes.find(({ path }) => path === 'spec.unschedulable')
  if (cordon) {
    return cordon.new === true
      ? { severity: 'info', says: ' was cordoned: it takes no new pods' }
      : { severity: 'info', says: ' was uncordoned: it takes pods again' }
  }
  const taints = changes.filter(({ path }) => path.startsWith('spec.taints'))
  if (taints.length === 0 || taints.length < changes.length) return undefined
  const names = list(told.object, 'spec', 'taints').map((it) => `${text(it, 'key')}:${text(it, 'effect')}`)
  const now = names.length > 0 ? `now ${listed(names, 3)}` : 'none is left'
  return { severity: 'info', says: ` changed its taints: ${now}` }
}

function fields(told: Told): Field[] {
  const { object } = told
  const labels = keys(object, 'metadata', 'labels')
  const roles = labels
    .filter((it) => it.startsWith('node-role.kubernetes.io/'))
    .map((it) => it.slice('node-role.kubernetes.io/'.length))
  const kubelet = changeAt(told, 'status.nodeInfo.kubeletVersion')
  return [
    field('Role', listed(roles, 3)),
    field('Zone', text(object, 'metadata', 'labels', 'topology.kubernetes.io/zone')),
    field('Type', text(object, 'metadata', 'labels', 'node.kubernetes.io/instance-type')),
    field('Kubelet', kubelet ? arrow(kubelet) : text(object, 'status', 'nodeInfo', 'kubeletVersion')),
  ]
}
