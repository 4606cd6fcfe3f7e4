import type { FieldChange } from '../../model/event.ts'
import type { Field } from '../../sink/index.ts'
import { counted } from '../../text/quantities.ts'
import {
  changeAt,
  changesListed,
  conditionOf,
  flipOf,
  imagesIn,
  imagesReplaced,
  isGone,
  isKnown,
} from './changes.ts'
import { because, describe, listed, rolloutStatus, targetOf } from './phrasing.ts'
import {
  at,
  type Draft,
  field,
  isEnding,
  isHeld,
  isRecent,
  isSettled,
  number,
  type Summarizer,
  type SummaryInput,
  text,
} from './summarizer.ts'

/** Deployments, StatefulSets, DaemonSets, ReplicaSets. */
export const workload: Summarizer = { trouble, wanted, state, created, fields }

const TEMPLATE = 'spec.template'
const READY = ['readyReplicas', 'numberReady']

function trouble(input: SummaryInput): Draft | undefined {
  const it = rolloutOf(input)
  if (!it) return undefined
  const describing = { command: describe(targetOf(input)) }
  const progressing = conditionOf(input, 'Progressing')
  if (progressing?.status === 'False') {
    const late = progressing.reason === 'ProgressDeadlineExceeded'
    const why = late ? ' in time' : because(progressing.message)
    const phrase = ` could not be rolled out${why}, ${it.updated} of ${it.desired} updated, ${it.ready} ready`
    return {
      severity: 'error',
      phrase,
      quote: progressing.message,
      fields: [field('Since', progressing.since)],
      ...describing,
    }
  }
  const failure = conditionOf(input, 'ReplicaFailure')
  if (failure?.status === 'True') {
    const phrase = ` cannot create pods${because(withoutName(failure.message))}`
    return {
      severity: 'error',
      phrase,
      quote: failure.message,
      fields: [field('Reason', failure.reason)],
      ...describing,
    }
  }
  return isEnding(input) ? undefined : unavailable(input, it)
}

/** `pods "web-abc" is forbidden: exceeded quota: …` without the name of a pod that never existed. */
export function withoutName(message: string): string {
  return message
    .replace(/^(?:Error creating: )?pods "[^"]*" is forbidden: /, '')
    .replace(/^Error creating: /, '')
}

function unavailable(input: SummaryInput, it: Rollout): Draft | undefined {
  const available = conditionOf(input, 'Available')
  const isShort = available?.status === 'False' && isSettled(input) && it.desired > 0
  if (isShort && (isHeld(input) || !isKnown(input) || hasLost(input))) {
    const none = it.ready === 0
    // With minReadySeconds, a pod is ready before it is available.
    const few =
      it.ready < it.desired ? `ready, ${it.ready}` : `available, ${status(input, 'availableReplicas')}`
    const phrase = none ? ` is down, 0 of ${it.desired} ready` : ` has too few ${few} of ${it.desired}`
    const fields = [field('Since', available.since)]
    return {
      severity: none ? 'error' : 'warning',
      phrase,
      fields,
      command: describe(targetOf(input)),
    }
  }
  const [from, to] = readyChange(input)
  const fell = from !== undefined && to !== undefined && to < from && !changeAt(input, 'spec.replicas')
  if (!(fell || isHeld(input)) || it.ready >= it.desired || it.rolling) return undefined
  const none = it.ready === 0
  const phrase = none ? ` is down, 0 of ${it.desired} ready` : ` has only ${it.ready} of ${it.desired} ready`
  return { severity: none ? 'error' : 'warning', phrase, command: describe(targetOf(input)) }
}

/** Fewer are ready or available than before. After a scale-up a Deployment lacks its minimum, too. */
function hasLost(input: SummaryInput): boolean {
  return ['readyReplicas', 'availableReplicas'].some((name) => {
    const { old, new: now } = changeAt(input, `status.${name}`) ?? {}
    return (toCount(now) ?? 0) < (toCount(old) ?? 0)
  })
}

/** How many were ready before, and now. A count of 0 is left out of the status. */
function readyChange(input: SummaryInput): [number | undefined, number | undefined] {
  for (const name of READY) {
    const change = changeAt(input, `status.${name}`)
    if (change) return [toCount(change.old), toCount(change.new)]
  }
  return [undefined, undefined]
}

function toCount(value: unknown): number | undefined {
  return value === undefined || value === null ? 0 : typeof value === 'number' ? value : undefined
}

function wanted(input: SummaryInput, changes: readonly FieldChange[]): Draft | undefined {
  const parts: string[] = []
  const images = imagesReplaced(input, TEMPLATE)
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
    phrase: ` ${parts.join(' and ')}`,
    text: scaled && toCount(scaled.new) === 0 ? 'None of its pods will run.' : '',
    ...(rolls && input.event.kind !== 'ReplicaSet' && { command: rolloutStatus(targetOf(input)) }),
  }
}

function state(input: SummaryInput): Draft | undefined {
  const it = rolloutOf(input)
  if (!it) return undefined
  const { kind } = input.event
  const ready = `${it.ready} of ${it.desired} ready`
  const again = recovered(input, it)
  if (again) return { severity: 'resolved', phrase: ` ${again}, ${ready}` }
  if (it.rolling) {
    const phrase = ` is rolling out, ${it.updated} of ${it.desired} updated${it.ready < it.desired ? `, ${it.ready} ready` : ''}`
    return {
      severity: 'info',
      phrase,
      ...(kind !== 'ReplicaSet' && { command: rolloutStatus(targetOf(input)) }),
    }
  }
  if (it.desired === 0)
    return { severity: 'info', phrase: kind === 'DaemonSet' ? ' has no node to run on' : ' is scaled to 0' }
  if (finished(input, it)) {
    // Pods come and go with their nodes, too.
    const nodes = it.desired === 1 ? 'its node' : `all ${it.desired} nodes`
    const rolledOut =
      kind === 'DaemonSet' && changeAt(input, 'status.currentNumberScheduled')
        ? `is up to date on ${nodes}`
        : `finished its roll-out of ${imagesIn(at(input.object, 'spec', 'template')) || 'a change'}`
    return { severity: 'info', phrase: ` ${rolledOut}, ${ready}` }
  }
  return { severity: 'info', phrase: it.ready >= it.desired ? ` is available, ${ready}` : ` has ${ready}` }
}

function recovered(input: SummaryInput, it: Rollout): string {
  const progress = flipOf(input, 'Progressing')
  const available = flipOf(input, 'Available')
  if (conditionOf(input, 'Progressing')?.status === 'True' && progress?.old === 'False')
    return 'is making progress again'
  if (!isSettled(input)) return ''
  if (conditionOf(input, 'Available')?.status === 'True' && available && available.old !== 'absent')
    return 'is available again'
  if (flipOf(input, 'ReplicaFailure')?.old === 'True' || isGone(input, 'ReplicaFailure'))
    return 'can create pods again'
  const [from, to] = readyChange(input)
  const full = from !== undefined && to !== undefined && from < to && to >= it.desired
  return full && !it.rolling && !finished(input, it) ? 'has all its pods again' : ''
}

function finished(input: SummaryInput, it: Rollout): boolean {
  const progressing = conditionOf(input, 'Progressing')
  if (progressing) {
    if (progressing.reason !== 'NewReplicaSetAvailable') return false
    if (!isKnown(input)) return isRecent(input, progressing.updated)
    return changeAt(input, 'status.conditions[type=Progressing].reason') !== undefined
  }
  if (input.event.kind === 'DaemonSet')
    return it.updated >= it.desired && changeAt(input, 'status.updatedNumberScheduled') !== undefined
  return changeAt(input, 'status.currentRevision')?.new !== undefined
}

function created(input: SummaryInput): string {
  const { object } = input
  const images = imagesIn(at(object, 'spec', 'template'))
  if (images === '') return ''
  const replicas = at(object, 'spec', 'replicas')
  const count = typeof replicas === 'number' ? `${counted(replicas, 'replica')} of ` : ''
  return `Runs ${count}${images}.`
}

function fields(input: SummaryInput): Field[] {
  const { object } = input
  const strategy = text(object, 'spec', 'strategy', 'type') || text(object, 'spec', 'updateStrategy', 'type')
  const it = rolloutOf(input)
  const ready =
    it && it.ready <= it.desired && input.event.type !== 'ADDED' ? `${it.ready} of ${it.desired}` : ''
  return [
    field('Image', imagesIn(at(object, 'spec', 'template'))),
    field('Ready', ready),
    field('Strategy', strategy === 'RollingUpdate' ? '' : strategy),
    field('Revision', text(object, 'metadata', 'annotations', 'deployment.kubernetes.io/revision')),
  ]
}

/** The progress of a rollout, for any kind of workload. */
interface Rollout {
  readonly desired: number
  readonly updated: number
  readonly ready: number
  /** Pods of the new template are still being made, or old ones taken away. */
  readonly rolling: boolean
}

/** Undefined without a status. */
function rolloutOf(input: SummaryInput): Rollout | undefined {
  const { kind } = input.event
  if (at(input.object, 'status') === undefined) return undefined
  if (kind === 'DaemonSet') return ofDaemonSet(input)
  if (kind === 'StatefulSet') return ofStatefulSet(input)
  return kind === 'Deployment' ? ofDeployment(input) : ofReplicas(input)
}

function status(input: SummaryInput, name: string): number {
  return number(input.object, 'status', name) ?? 0
}

function unseen({ object }: SummaryInput): boolean {
  const generation = number(object, 'metadata', 'generation')
  const observed = number(object, 'status', 'observedGeneration')
  return generation !== undefined && observed !== undefined && generation > observed
}

function replicas({ object }: SummaryInput): number {
  return number(object, 'spec', 'replicas') ?? 1
}

function ofDeployment(input: SummaryInput): Rollout {
  const desired = replicas(input)
  const updated = status(input, 'updatedReplicas')
  const done = conditionOf(input, 'Progressing')?.reason === 'NewReplicaSetAvailable'
  const behind = updated < desired || status(input, 'replicas') > updated
  const ready = status(input, 'readyReplicas')
  return { desired, updated, ready, rolling: unseen(input) || (behind && !done) }
}

function ofStatefulSet(input: SummaryInput): Rollout {
  const desired = replicas(input)
  const current = text(input.object, 'status', 'currentRevision')
  const wanted = text(input.object, 'status', 'updateRevision')
  const updated = wanted === current ? desired : status(input, 'updatedReplicas')
  const partition = number(input.object, 'spec', 'updateStrategy', 'rollingUpdate', 'partition') ?? 0
  const manual = text(input.object, 'spec', 'updateStrategy', 'type') === 'OnDelete'
  const rolling = unseen(input) || (!manual && wanted !== current && updated < desired - partition)
  return { desired, updated, ready: status(input, 'readyReplicas'), rolling }
}

function ofDaemonSet(input: SummaryInput): Rollout {
  const desired = status(input, 'desiredNumberScheduled')
  const updated = status(input, 'updatedNumberScheduled')
  const manual = text(input.object, 'spec', 'updateStrategy', 'type') === 'OnDelete'
  // Without pods of an old template, those that lack are not being rolled out.
  const old = status(input, 'currentNumberScheduled') - updated
  return {
    desired,
    updated,
    ready: status(input, 'numberReady'),
    rolling: unseen(input) || (!manual && desired > 0 && old > 0),
  }
}

function ofReplicas(input: SummaryInput): Rollout {
  const desired = replicas(input)
  return { desired, updated: desired, ready: status(input, 'readyReplicas'), rolling: false }
}

/** HorizontalPodAutoscalers. */
export const scaler: Summarizer = {
  trouble(input) {
    for (const type of ['AbleToScale', 'ScalingActive']) {
      const condition = conditionOf(input, type)
      if (condition?.status !== 'False' || condition.reason === 'ScalingDisabled') continue
      const phrase = ` cannot scale${because(scalerClause(condition.message))}`
      const fields = [field('Reason', condition.reason), field('Since', condition.since)]
      return { severity: 'warning', phrase, quote: condition.message, fields }
    }
    return undefined
  },
  wanted(input, changes) {
    const limits = changes.filter(({ path }) => /^spec\.(?:min|max)Replicas$/.test(path))
    if (limits.length === 0 || limits.length < changes.length) return undefined
    return { severity: 'info', phrase: ` now scales between ${range(input)}` }
  },
  state: scalerState,
  created: (input) => `Scales ${scaled(input.object)} between ${range(input)}.`,
  fields({ object }) {
    return [
      field('Scales', scaled(object)),
      field(
        'Range',
        `${number(object, 'spec', 'minReplicas') ?? 1} to ${number(object, 'spec', 'maxReplicas') ?? '?'}`,
      ),
      field('Last scaled', text(object, 'status', 'lastScaleTime')),
    ]
  },
}

/** The cause of a metrics error, without the controller's intention. */
export function scalerClause(message: string): string {
  return message
    .replace(/^the HPA (?:was|controller was) unable to [^:]+: /, '')
    .replace(/^invalid metrics \([^)]*\), first error is: /, '')
    .replace(/^(?:failed to get [^:]+: )+/, '')
}

function scaled(object: SummaryInput['object']): string {
  return `${text(object, 'spec', 'scaleTargetRef', 'kind')} ${text(object, 'spec', 'scaleTargetRef', 'name')}`.trim()
}

function range({ object }: SummaryInput): string {
  return `${number(object, 'spec', 'minReplicas') ?? 1} and ${number(object, 'spec', 'maxReplicas') ?? '?'} replicas`
}

function scalerState(input: SummaryInput): Draft | undefined {
  const { object } = input
  const limited = conditionOf(input, 'ScalingLimited')
  const capped = limited?.status === 'True' && limited.reason === 'TooManyReplicas'
  const active = conditionOf(input, 'ScalingActive')
  if (active?.status === 'True' && flipOf(input, 'ScalingActive')?.old === 'False') {
    return { severity: 'resolved', phrase: ' can scale again' }
  }
  const most = number(object, 'spec', 'maxReplicas')
  const text = capped ? `It would take more, but ${most ?? 'that'} is its maximum.` : ''
  if (capped && most !== undefined && (isHeld(input) || flipOf(input, 'ScalingLimited'))) {
    return {
      severity: 'warning',
      phrase: ` is at its maximum of ${counted(most, 'replica')}`,
      text,
      quote: limited.message,
    }
  }
  const desired = changeAt(input, 'status.desiredReplicas')
  if (desired && typeof desired.old === 'number' && typeof desired.new === 'number') {
    return { severity: 'info', phrase: ` scaled from ${desired.old} to ${desired.new}`, text }
  }
  const [now, then] = [
    number(object, 'status', 'currentReplicas'),
    number(object, 'status', 'desiredReplicas'),
  ]
  if (now === undefined || then === undefined) return undefined
  if (now !== then) return { severity: 'info', phrase: ` is scaling from ${now} to ${then}`, text }
  return { severity: 'info', phrase: ` keeps ${counted(now, 'replica')}` }
}
