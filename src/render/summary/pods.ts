import type { Field } from '../../sink/index.ts'
import { counted } from '../../text/quantities.ts'
import { changeAt, conditionOf, flipOf, imagesIn, isKnown } from './changes.ts'
import {
  because,
  kubectl,
  listed,
  ordinal,
  previousLogs,
  quoted,
  schedulingClause,
  sentence,
  targetOf,
} from './phrasing.ts'
import {
  at,
  type Draft,
  field,
  isEnding,
  isRecent,
  isSettled,
  list,
  number,
  type Summarizer,
  type SummaryInput,
  scalar,
  text,
  timeMs,
} from './summarizer.ts'

export const pod: Summarizer = {
  trouble: (input) => failed(input) ?? worstOfContainers(input) ?? unschedulable(input),
  wanted(input, changes) {
    const node = text(changes.find(({ path }) => path === 'spec.nodeName')?.new)
    if (node === '') return undefined
    const waited = changeAt(input, 'status.conditions[type=PodScheduled].status')?.old === 'False'
    return {
      severity: waited ? 'resolved' : 'info',
      phrase: ` was scheduled on node ${node}${waited ? ' after all' : ''}`,
    }
  },
  state: (input) => readiness(input) ?? phase(input),
  created({ object }) {
    const images = imagesIn(object)
    return images === '' ? '' : `Runs ${images}.`
  },
  fields,
  command: logsOfCulprit,
}

function logsOfCulprit(input: SummaryInput): string {
  const ended = text(input.object, 'status', 'phase') === 'Failed'
  const culprit = suspectsOf(input).find((it) => {
    if (it.waiting === 'CrashLoopBackOff') return true
    const end = it.ended ?? (it.waiting === '' ? it.endedBefore : undefined)
    return end !== undefined && end.exitCode !== 0
  })
  if (!culprit) return ''
  const { name } = input.event
  return ended
    ? kubectl(targetOf(input), 'logs', quoted(name), '-c', quoted(culprit.name))
    : previousLogs(targetOf(input), culprit.name)
}

function worstOfContainers(input: SummaryInput): Draft | undefined {
  const troubles = suspectsOf(input).flatMap((it) => containerTrouble(input, it) ?? [])
  return troubles.find(({ severity }) => severity === 'error') ?? troubles[0]
}

/** Failed for good: evicted, or ended without a restart. */
function failed(input: SummaryInput): Draft | undefined {
  const { object } = input
  if (text(object, 'status', 'phase') !== 'Failed') return undefined
  const reason = text(object, 'status', 'reason')
  const quote = text(object, 'status', 'message')
  if (reason === 'Evicted')
    return { severity: 'warning', phrase: ` was evicted${because(evictedFor(quote))}`, quote }
  if (reason !== '') {
    const refused = /^(?:OutOf|UnexpectedAdmissionError|NodeAffinity)/.test(reason)
    const why = quote.replace(/^Pod was rejected: /, '') || reason
    const phrase = `${refused ? ' was refused by its node' : ' failed'}${because(why)}`
    return { severity: 'warning', phrase, quote, fields: [field('Reason', reason)] }
  }
  if (isEnding(input)) return undefined
  const culprit = suspectsOf(input).find((it) => it.ended && it.ended.exitCode !== 0)
  const retried = list(object, 'metadata', 'ownerReferences').some((it) => text(it, 'kind') === 'Job')
  const severity = retried ? 'warning' : 'error'
  if (!culprit?.ended) return { severity, phrase: ` failed${because(quote)}`, quote }
  const trouble = containerTrouble(input, culprit)
  const phrase = ` failed: container ${culprit.name} ended with ${exitOf(culprit.ended)}`
  if (culprit.ended.reason === 'OOMKilled' && trouble) return { ...trouble, severity: 'error' }
  return { severity, phrase, text: lastOutput(culprit.ended), quote }
}

/** `the node was low on memory`. */
export function evictedFor(message: string): string {
  const [, resource] = /low on resource: ([\w-]+)/.exec(message) ?? []
  return resource ? `the node was low on ${resource}` : message
}

function unschedulable(input: SummaryInput): Draft | undefined {
  const scheduled = conditionOf(input, 'PodScheduled')
  if (scheduled?.status !== 'False' || scheduled.reason === 'SchedulingGated') return undefined
  const phrase = ` cannot be scheduled${because(schedulingClause(scheduled.message))}`
  return { severity: 'warning', phrase, quote: scheduled.message, fields: [field('Since', scheduled.since)] }
}

function readiness(input: SummaryInput): Draft | undefined {
  const ready = conditionOf(input, 'Ready')
  const flip = flipOf(input, 'Ready')
  if (!ready || !flip) return undefined
  const restarts = restartsOf(containersOf(input))
  if (ready.status === 'True') {
    const after = restarts > 0 ? ` after ${counted(restarts, 'restart')}` : ''
    const again = restarts > 0 || (wasReady(input) ?? isSettled(input))
    return again
      ? { severity: 'resolved', phrase: ` is ready again${after}` }
      : { severity: 'info', phrase: ' is ready' }
  }
  if (text(input.object, 'status', 'phase') === 'Succeeded') return undefined
  const isYoung = text(input.object, 'status', 'phase') === 'Pending' || (!isSettled(input) && restarts === 0)
  if (isYoung && flip.old !== 'True') return starting(input)
  const unready = containersOf(input).filter((it) => !it.ready && !it.init)
  const runsToEnd = /^(?:Never|OnFailure)$/.test(text(input.object, 'spec', 'restartPolicy'))
  const completed = unready.length > 0 && unready.every((it) => it.ended?.exitCode === 0)
  if (runsToEnd && completed) return undefined
  const neverReady = afterStartMs(input, ready.since) < FIRST_LOOK_MS
  const which = unready.length > 0 ? `: ${listed(unready.map(({ name }) => `container ${name}`))}` : ''
  return {
    severity: 'warning',
    phrase: `${neverReady ? ' has not become ready' : ' is not ready any more'}${which}`,
    quote: ready.message,
    fields: [field('Since', ready.since)],
  }
}

/** Its kubelet sees a pod first as not ready, so soon after the start that it took. */
const FIRST_LOOK_MS = 5_000

/** Whether it was ready before it was not: a large image or a slow application may keep it so for long. Undefined if unknown. */
function wasReady(input: SummaryInput): boolean | undefined {
  const ms = afterStartMs(input, changeAt(input, 'status.conditions[type=Ready].lastTransitionTime')?.old)
  return Number.isNaN(ms) ? undefined : ms >= FIRST_LOOK_MS
}

/** How long after the start of the pod a time is; NaN if unknown. */
function afterStartMs({ object }: SummaryInput, time: unknown): number {
  return (timeMs(time) ?? Number.NaN) - (timeMs(object, 'status', 'startTime') ?? Number.NaN)
}

function phase(input: SummaryInput): Draft {
  const { object } = input
  const now = text(object, 'status', 'phase')
  const containers = containersOf(input).filter((it) => !it.init)
  if (now === 'Succeeded') return { severity: 'info', phrase: ' completed' }
  const ready = containers.filter((it) => it.ready).length
  if (now === 'Running' && containers.length > 0) {
    if (ready < containers.length && changeAt(input, 'status.phase')) return starting(input)
    return {
      severity: 'info',
      phrase: ` is running, ${ready} of ${counted(containers.length, 'container')} ready`,
    }
  }
  return starting(input)
}

function starting(input: SummaryInput): Draft {
  const node = text(input.object, 'spec', 'nodeName')
  const gated = conditionOf(input, 'PodScheduled')?.reason === 'SchedulingGated'
  if (gated) return { severity: 'info', phrase: ' is held back by a scheduling gate' }
  return { severity: 'info', phrase: node === '' ? ' waits for a node' : ` is starting on node ${node}` }
}

function restartsOf(containers: readonly Container[]): number {
  return containers.reduce((sum, it) => sum + it.restarts, 0)
}

function fields(input: SummaryInput): Field[] {
  const { object } = input
  const restarts = restartsOf(containersOf(input))
  return [
    field('Node', text(object, 'spec', 'nodeName')),
    field('Image', imagesIn(object)),
    field('Restarts', restarts > 0 ? restarts : ''),
  ]
}

/** A container of a pod: its spec and its state. */
interface Container {
  readonly name: string
  readonly image: string
  readonly memoryLimit: string
  readonly ready: boolean
  readonly restarts: number
  /** Why it waits: CrashLoopBackOff, ImagePullBackOff … */
  readonly waiting: string
  readonly waitingMessage: string
  readonly running: boolean
  /** RFC 3339. */
  readonly startedAt: string
  /** How it ended, if it does not run. */
  readonly ended: End | undefined
  /** How its run before ended. */
  readonly endedBefore: End | undefined
  /** Its part of the status, as changes name it. */
  readonly path: string
  /** It runs and ends before the others start. */
  readonly init: boolean
  /** An init container that runs as long as the others (KEP-753). */
  readonly sidecar: boolean
}

interface End {
  readonly exitCode: number | undefined
  readonly reason: string
  readonly message: string
}

const PARTS = [
  ['initContainers', 'initContainerStatuses'],
  ['containers', 'containerStatuses'],
] as const

/** Containers of the latest input: its summary reads them several times. */
let latest: { input: SummaryInput; containers: readonly Container[] } | undefined

function containersOf(input: SummaryInput): readonly Container[] {
  if (latest?.input !== input) latest = { input, containers: readContainers(input) }
  return latest.containers
}

/** Returns the containers that can be the cause of a problem: once all others have ended, sidecars are stopped, with any exit code. */
function suspectsOf(input: SummaryInput): readonly Container[] {
  const containers = containersOf(input)
  const main = containers.filter(({ init, sidecar }) => !init && !sidecar)
  const isOver = main.length > 0 && main.every(({ ended }) => ended)
  return isOver ? containers.filter(({ sidecar }) => !sidecar) : containers
}

function readContainers({ object }: SummaryInput): readonly Container[] {
  return PARTS.flatMap(([spec, statuses]) => {
    const specs = list(object, 'spec', spec)
    return list(object, 'status', statuses).map((it) => {
      const name = text(it, 'name')
      const asked = specs.find((one) => text(one, 'name') === name)
      const sidecar = spec === 'initContainers' && text(asked, 'restartPolicy') === 'Always'
      return {
        name,
        image: text(asked, 'image') || text(it, 'image'),
        memoryLimit: scalar(asked, 'resources', 'limits', 'memory'),
        ready: at(it, 'ready') === true,
        restarts: number(it, 'restartCount') ?? 0,
        waiting: text(it, 'state', 'waiting', 'reason'),
        waitingMessage: text(it, 'state', 'waiting', 'message'),
        running: at(it, 'state', 'running') !== undefined,
        startedAt: text(it, 'state', 'running', 'startedAt'),
        ended: endOf(at(it, 'state', 'terminated')),
        endedBefore: endOf(at(it, 'lastState', 'terminated')),
        path: `status.${statuses}[name=${name}]`,
        init: spec === 'initContainers' && !sidecar,
        sidecar,
      }
    })
  })
}

function endOf(it: unknown): End | undefined {
  if (typeof it !== 'object' || it === null) return undefined
  return { exitCode: number(it, 'exitCode'), reason: text(it, 'reason'), message: text(it, 'message') }
}

function isOutOfMemory(end: End | undefined): boolean {
  return end?.reason === 'OOMKilled'
}

/** `exit code 137 (SIGKILL)`. */
function exitOf({ exitCode, reason }: End): string {
  if (exitCode === undefined) return reason || 'no exit code'
  const signal = SIGNALS.get(exitCode)
  return signal ? `exit code ${exitCode} (${signal})` : `exit code ${exitCode}`
}

const SIGNALS = new Map([
  [134, 'SIGABRT'],
  [137, 'SIGKILL'],
  [139, 'SIGSEGV'],
  [143, 'SIGTERM'],
])

/** Returns why the container ended, with its termination message if there is one. */
function lastRun(it: Container): string {
  const end = it.ended ?? it.endedBefore
  if (!end) return ''
  if (!isOutOfMemory(end)) return `Container ${it.name} ended with ${exitOf(end)}.${lastOutput(end)}`
  const why =
    it.memoryLimit === '' ? 'it has no memory limit of its own' : 'it used more memory than its limit'
  return `Exit code ${end.exitCode ?? 137}: ${why}.${lastOutput(end)}`
}

function lastOutput({ message }: End): string {
  return message === '' ? '' : ` It said: ${sentence(message)}`
}

function limitOf({ memoryLimit }: Container): string {
  return memoryLimit === '' ? '' : ` (limit ${memoryLimit})`
}

/** Returns whether the container has just restarted. */
function justRestarted(input: SummaryInput, it: Container): boolean {
  if (it.restarts === 0 || !it.running) return false
  if (!isKnown(input)) return isRecent(input, it.startedAt)
  const { old } = changeAt(input, `${it.path}.restartCount`) ?? {}
  return typeof old === 'number' && old < it.restarts
}

/** Returns the problem of one container. */
function containerTrouble(input: SummaryInput, it: Container): Draft | undefined {
  const quote = it.waitingMessage
  const title = it.init ? `init container ${it.name}` : `container ${it.name}`
  const oom = isOutOfMemory(it.ended ?? it.endedBefore)
  if (it.waiting === 'CrashLoopBackOff') {
    const why = oom ? `: ${title} runs out of memory${limitOf(it)}` : ''
    const times = it.restarts > 0 ? `, ${counted(it.restarts, 'restart')}` : ''
    return { severity: 'error', phrase: ` is crash-looping${times}${why}`, text: lastRun(it), quote }
  }
  if (PULL.has(it.waiting)) {
    return { severity: 'warning', phrase: ` cannot pull image ${it.image}`, text: '', quote }
  }
  if (START.has(it.waiting)) {
    return { severity: 'warning', phrase: ` cannot start ${title}${because(quote)}`, text: '', quote }
  }
  const restarted = justRestarted(input, it)
  const end = it.ended ?? (restarted ? it.endedBefore : undefined)
  if (!end || end.exitCode === 0 || isEnding(input)) return undefined
  const after = restarted ? `, ${ordinal(it.restarts)} restart` : ''
  if (isOutOfMemory(end)) {
    return {
      severity: 'error',
      phrase: `: ${title} was killed, out of memory${limitOf(it)}${after}`,
      text: lastRun(it),
    }
  }
  const phrase = restarted
    ? `: ${title} was restarted after ${exitOf(end)}, ${ordinal(it.restarts)} restart`
    : `: ${title} failed with ${exitOf(end)}`
  return { severity: 'warning', phrase, text: lastOutput(end) }
}

const PULL = new Set([
  'ImagePullBackOff',
  'ErrImagePull',
  'ErrImageNeverPull',
  'InvalidImageName',
  'ImageInspectError',
  'RegistryUnavailable',
  'SignatureValidationFailed',
])

const START = new Set([
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
  'PostStartHookError',
  'PreCreateHookError',
  'PreStartHookError',
])
