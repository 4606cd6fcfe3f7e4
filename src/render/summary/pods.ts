import { changeAt, isKnown } from './changes.ts'
import { isEnding, isRecent } from './meta.ts'
import { at, list, number, scalar, text } from './read.ts'
import type { Draft, Told } from './told.ts'
import { because, counted, ordinal, sentence } from './wording.ts'

/** A container of a pod: what was asked for, and how it is. */
export interface Container {
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
  readonly init: boolean
}

export interface End {
  readonly exitCode: number | undefined
  readonly reason: string
  readonly message: string
}

const PARTS = [
  ['initContainers', 'initContainerStatuses'],
  ['containers', 'containerStatuses'],
] as const

export function containersOf({ object }: Told): readonly Container[] {
  return PARTS.flatMap(([spec, statuses]) => {
    const specs = list(object, 'spec', spec)
    return list(object, 'status', statuses).map((it) => {
      const name = text(it, 'name')
      const asked = specs.find((one) => text(one, 'name') === name)
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
        init: spec === 'initContainers',
      }
    })
  })
}

function endOf(it: unknown): End | undefined {
  if (typeof it !== 'object' || it === null) return undefined
  return { exitCode: number(it, 'exitCode'), reason: text(it, 'reason'), message: text(it, 'message') }
}

export function isOutOfMemory(end: End | undefined): boolean {
  return end?.reason === 'OOMKilled'
}

/** `exit code 137 (SIGKILL)`. */
export function exitOf({ exitCode, reason }: End): string {
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

/** Why it ended, as a sentence, with its own last words, where it left some. */
export function lastRun(it: Container): string {
  const end = it.ended ?? it.endedBefore
  if (!end) return ''
  if (!isOutOfMemory(end)) return `Container ${it.name} ended with ${exitOf(end)}.${lastWords(end)}`
  const why =
    it.memoryLimit === '' ? 'it has no memory limit of its own' : 'it used more memory than its limit'
  return `Exit code ${end.exitCode ?? 137}: ${why}.${lastWords(end)}`
}

export function lastWords({ message }: End): string {
  return message === '' ? '' : ` It said: ${sentence(message)}`
}

export function limitOf({ memoryLimit }: Container): string {
  return memoryLimit === '' ? '' : ` (limit ${memoryLimit})`
}

/** Did it just start anew after an end? */
export function justRestarted(told: Told, it: Container): boolean {
  if (it.restarts === 0 || !it.running) return false
  if (!isKnown(told)) return isRecent(told, it.startedAt)
  const { old } = changeAt(told, `${it.path}.restartCount`) ?? {}
  return typeof old === 'number' && old < it.restarts
}

/** What is wrong with one container. */
export function containerTrouble(told: Told, it: Container): Draft | undefined {
  const quote = it.waitingMessage
  const title = it.init ? `init container ${it.name}` : `container ${it.name}`
  const oom = isOutOfMemory(it.ended ?? it.endedBefore)
  if (it.waiting === 'CrashLoopBackOff') {
    const why = oom ? `: ${title} runs out of memory${limitOf(it)}` : ''
    const times = it.restarts > 0 ? `, ${counted(it.restarts, 'restart')}` : ''
    return { severity: 'error', says: ` is crash-looping${times}${why}`, text: lastRun(it), quote }
  }
  if (PULL.has(it.waiting)) {
    return { severity: 'warning', says: ` cannot pull image ${it.image}`, text: '', quote }
  }
  if (START.has(it.waiting)) {
    return { severity: 'warning', says: ` cannot start ${title}${because(quote)}`, text: '', quote }
  }
  const restarted = justRestarted(told, it)
  const end = it.ended ?? (restarted ? it.endedBefore : undefined)
  if (!end || end.exitCode === 0 || isEnding(told)) return undefined
  const after = restarted ? `, ${ordinal(it.restarts)} restart` : ''
  if (isOutOfMemory(end)) {
    return {
      severity: 'error',
      says: `: ${title} was killed, out of memory${limitOf(it)}${after}`,
      text: lastRun(it),
    }
  }
  const says = restarted
    ? `: ${title} was restarted after ${exitOf(end)}, ${ordinal(it.restarts)} restart`
    : `: ${title} failed with ${exitOf(end)}`
  return { severity: 'warning', says, text: lastWords(end) }
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
