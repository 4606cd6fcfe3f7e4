import type { FieldChange } from '../../event.ts'
import type { Field } from '../../sink/index.ts'
import { changeAt, changesListed, isKnown } from './changes.ts'
import { describe, rolloutStatus, targetOf } from './command.ts'
import { conditionOf, flipOf, isGone } from './conditions.ts'
import { imagesIn, imagesReplaced } from './images.ts'
import { field, isEnding, isRecent, isSettled } from './meta.ts'
import { at, text } from './read.ts'
import { type Rollout, rolloutOf } from './rollout.ts'
import type { Draft, Teller, Told } from './told.ts'
import { because, counted, listed } from './wording.ts'

/** Deployments, StatefulSets, DaemonSets, ReplicaSets. */
export const workload: Teller = { trouble, wanted, state, created, fields }

const TEMPLATE = 'spec.template'
const READY = ['readyReplicas', 'numberReady']

function trouble(told: Told): Draft | undefined {
  const it = rolloutOf(told)
  if (!it) return undefined
  const describing = { command: describe(targetOf(told)) }
  const progressing = conditionOf(told, 'Progressing')
  if (progressing?.status === 'False') {
    const late = progressing.reason === 'ProgressDeadlineExceeded'
    const why = late ? ' in time' : because(progressing.message)
    const says = ` could not be rolled out${why}, ${it.updated} of ${it.desired} updated, ${it.ready} ready`
    return {
      severity: 'error',
      says,
      quote: progressing.message,
      fields: [field('Since', progressing.since)],
      ...describing,
    }
  }
  const failure = conditionOf(told, 'ReplicaFailure')
  if (failure?.status === 'True') {
    const says = ` cannot create pods${because(withoutName(failure.message))}`
    return {
      severity: 'error',
      says,
      quote: failure.message,
      fields: [field('Reason', failure.reason)],
      ...describing,
    }
  }
  return isEnding(told) ? undefined : unavailable(told, it)
}

/** `pods "web-abc" is forbidden: exceeded quota: …` without the name that nobody will ever see. */
export function withoutName(message: string): string {
  return message
    .replace(/^(?:Error creating: )?pods "[^"]*" is forbidden: /, '')
    .replace(/^Error creating: /, '')
}

function unavailable(told: Told, it: Rollout): Draft | undefined {
  const available = conditionOf(told, 'Available')
  const down = available?.status === 'False' && isSettled(told) && it.desired > 0
  if (down) {
    const none = it.ready === 0
    const says = none
      ? ` is down, 0 of ${it.desired} ready`
      : ` has too few ready, ${it.ready} of ${it.desired}`
    const fields = [field('Since', available.since)]
    return {
      severity: none ? 'error' : 'warning',
      says,
      fields,
      command: describe(targetOf(told)),
    }
  }
  const [from, to] = readyChange(told)
  if (from === undefined || to === undefined || to >= from || to >= it.desired || it.rolling) return undefined
  if (changeAt(told, 'spec.replicas')) return undefined
  const none = to === 0
  const says = none ? ` is down, 0 of ${it.desired} ready` : ` has only ${to} of ${it.desired} ready`
  return { severity: none ? 'error' : 'warning', says, command: describe(targetOf(told)) }
}

/** How many were ready before, and now. A count of 0 is left out of the status. */
function readyChange(told: Told): [number | undefined, number | undefined] {
  for (const name of READY) {
    const change = changeAt(told, `status.${name}`)
    if (change) return [toCount(change.old), toCount(change.new)]
  }
  return [undefined, undefined]
}

function toCount(value: unknown): number | undefined {
  return value === undefined || value === null ? 0 : typeof value === 'number' ? value : undefined
}

function wanted(told: Told, changes: readonly FieldChange[]): Draft | undefined {
  const parts: string[] = []
  const images = imagesReplaced(told, TEMPLATE)
  if (images.length > 0) parts.push(`rolled out ${listed(images, 2)}`)
  const scaled = changes.find(({ path }) => path === 'spec.replicas')
  if (scaled) parts.push(`scaled ${toCount(scaled.old) ?? '?'} → ${toCount(scaled.new) ?? '?'}`)
  const paused = changes.find(({ path }) => path === 'spec.paused')
  if (paused) parts.push(paused.new === true ? 'was paused' : 'was resumed')
  if (changes.some(({ path }) => path.includes('kubectl.kubernetes.io/restartedAt')))
    parts.push('is being restarted')
  for (const { path, old, new: now } of changes) {
    const [, name] = /\.(?:initC|c)ontainers\[name=([^\]]*)\]$/.exec(path) ?? []
    if (name && old === undefined) parts.push(`got container ${name}`)
    if (name && now === undefined) parts.push(`lost container ${name}`)
  }
  if (parts.length === 0) {
    const others = changes.filter(({ path }) => path.startsWith(`${TEMPLATE}.`))
    if (others.length > 0) parts.push(`is rolling out a change: ${changesListed(others)}`)
  }
  if (parts.length === 0) return undefined
  const rolls = changes.some(({ path }) => path.startsWith(TEMPLATE))
  return {
    severity: 'info',
    says: ` ${parts.join(' and ')}`,
    text: scaled && toCount(scaled.new) === 0 ? 'None of its pods will run.' : '',
    ...(rolls && told.event.kind !== 'ReplicaSet' && { command: rolloutStatus(targetOf(told)) }),
  }
}

function state(told: Told): Draft | undefined {
  const it = rolloutOf(told)
  if (!it) return undefined
  const { kind } = told.event
  const ready = `${it.ready} of ${it.desired} ready`
  const again = recovered(told, it)
  if (again) return { severity: 'resolved', says: ` ${again}, ${ready}` }
  if (it.rolling) {
    const says = ` is rolling out, ${it.updated} of ${it.desired} updated${it.ready < it.desired ? `, ${it.ready} ready` : ''}`
    return {
      severity: 'info',
      says,
      ...(kind !== 'ReplicaSet' && { command: rolloutStatus(targetOf(told)) }),
    }
  }
  if (it.desired === 0)
    return { severity: 'info', says: kind === 'DaemonSet' ? ' has no node to run on' : ' is scaled to 0' }
  if (finished(told)) {
    return {
      severity: 'info',
      says: ` finished its roll-out of ${imagesIn(at(told.object, 'spec', 'template')) || 'a change'}, ${ready}`,
    }
  }
  return { severity: 'info', says: it.ready >= it.desired ? ` is available, ${ready}` : ` has ${ready}` }
}

function recovered(told: Told, it: Rollout): string {
  const progress = flipOf(told, 'Progressing')
  const available = flipOf(told, 'Available')
  if (conditionOf(told, 'Progressing')?.status === 'True' && progress?.old === 'False')
    return 'is making progress again'
  if (!isSettled(told)) return ''
  if (conditionOf(told, 'Available')?.status === 'True' && available && available.old !== 'absent')
    return 'is available again'
  if (flipOf(told, 'ReplicaFailure')?.old === 'True' || isGone(told, 'ReplicaFailure'))
    return 'can create pods again'
  const [from, to] = readyChange(told)
  const full = from !== undefined && to !== undefined && from < to && to >= it.desired
  return full && !it.rolling && !finished(told) ? 'has all its pods again' : ''
}

function finished(told: Told): boolean {
  const progressing = conditionOf(told, 'Progressing')
  if (progressing) {
    if (progressing.reason !== 'NewReplicaSetAvailable') return false
    if (!isKnown(told)) return isRecent(told, progressing.updated)
    return changeAt(told, 'status.conditions[type=Progressing].reason') !== undefined
  }
  const paths = ['status.currentRevision', 'status.updatedNumberScheduled']
  return paths.some((path) => changeAt(told, path)?.new !== undefined)
}

function created(told: Told): string {
  const { object } = told
  const images = imagesIn(at(object, 'spec', 'template'))
  if (images === '') return ''
  const replicas = at(object, 'spec', 'replicas')
  const count = typeof replicas === 'number' ? `${counted(replicas, 'replica')} of ` : ''
  return `Runs ${count}${images}.`
}

function fields(told: Told): Field[] {
  const { object } = told
  const strategy = text(object, 'spec', 'strategy', 'type') || text(object, 'spec', 'updateStrategy', 'type')
  const it = rolloutOf(told)
  const ready =
    it && it.ready <= it.desired && told.event.type !== 'ADDED' ? `${it.ready} of ${it.desired}` : ''
  return [
    field('Image', imagesIn(at(object, 'spec', 'template'))),
    field('Ready', ready),
    field('Strategy', strategy === 'RollingUpdate' ? '' : strategy),
    field('Revision', text(object, 'metadata', 'annotations', 'deployment.kubernetes.io/revision')),
  ]
}
