import type { KubeEvent } from '../../model/event.ts'
import type { Field, Severity, Summary } from '../../sink/index.ts'
import { counted } from '../../text/quantities.ts'
import {
  because,
  clause,
  describe,
  duration,
  finish,
  isBuiltIn,
  kubectl,
  ordinal,
  previousLogs,
  quoted,
  schedulingClause,
  type Target,
  targetOf,
  withoutRpc,
} from './phrasing.ts'
import { evictedFor } from './pods.ts'
import {
  CLUSTER_REASONS,
  CONTROLLER_REASONS,
  containerOf,
  type EventFacts,
  found,
  imageOf,
  type Meaning,
  why,
} from './reasons-other.ts'
import { agoMs, type Draft, field, number, type SummaryInput, text, timeMs } from './summarizer.ts'

/** Summarizes an Event as a statement about the regarded object. */
export function summarizeEvent(input: SummaryInput, event: KubeEvent): Summary {
  const said = read(event)
  const target = regarded(input, said)
  const { type } = input.event
  const draft = type === 'DELETED' ? expired(said, describe(target)) : statementOf(said)
  const fields = [...(draft.fields ?? []), ...fieldsOf(input, said)]
  const command = draft.command ?? commandFor(said, target)
  return finish(target, { ...draft, quote: said.message, fields }, [], command)
}

/** Returns the severity of an Event. */
export function severityOfEvent(event: KubeEvent): Severity {
  return statementOf(read(event)).severity
}

/** Normalizes an Event: any user who may create Events can write any value. */
function read(event: KubeEvent): EventFacts {
  const part = (name: string) => text(event, name)
  const count = number(event, 'count') ?? 1
  const ref = (name: string) => text(event, 'regarding', name)
  const [, container = ''] = /containers?\{([^}]{1,253})\}/i.exec(ref('fieldPath')) ?? []
  return {
    type: part('type'),
    reason: part('reason'),
    message: part('message'),
    count: count >= 1 ? Math.floor(count) : 1,
    regarding: {
      apiVersion: ref('apiVersion'),
      kind: ref('kind'),
      namespace: ref('namespace'),
      name: ref('name'),
    },
    firstSeen: part('firstSeen'),
    lastSeen: part('lastSeen'),
    reportingComponent: part('reportingComponent'),
    kind: ref('kind'),
    container,
  }
}

function regarded(input: SummaryInput, { regarding }: EventFacts): Target {
  const { apiVersion = '', kind = '', namespace, name = '' } = regarding
  return kind === '' || name === '' ? targetOf(input) : { apiVersion, kind, namespace, name }
}

function expired({ reason, count }: EventFacts, command: string): Draft {
  const times = count > 1 ? ` (${counted(count, 'time')})` : ''
  return { severity: 'info', phrase: `: its Event ${clause(reason, 60)}${times} is no longer kept`, command }
}

function statementOf(said: EventFacts): Draft {
  const ofType: Severity = said.type === 'Warning' ? 'warning' : 'info'
  const meaning = meaningOf(said)
  const [severity, phrase] = Array.isArray(meaning)
    ? (meaning as [Severity, Meaning])
    : [ofType, meaning as Meaning]
  const made = typeof phrase === 'function' ? phrase(said) : (phrase as string)
  const draft: Draft = { severity, phrase: '', ...(typeof made === 'string' ? { phrase: made } : made) }
  return { ...draft, phrase: draft.phrase + (said.reason === 'BackOff' ? '' : times(said)) }
}

/** Third-party controllers use the same reasons with other meanings. */
function meaningOf({ regarding, kind, reason }: EventFacts): Meaning {
  if (!isBuiltIn(regarding.apiVersion ?? '')) return unknown
  return REASONS.get(`${kind}/${reason}`) ?? REASONS.get(reason) ?? unknown
}

/** An unknown controller's reason: its own message. */
function unknown({ reason, message }: EventFacts): string {
  const what = clause(message, 120)
  return `: ${[clause(reason, 60), what].filter((it) => it !== '').join(', ') || 'an Event without a reason'}`
}

/** ` (12 times in 5 min)`. */
function times({ count, firstSeen, lastSeen }: EventFacts): string {
  if (count < 2) return ''
  const [from, to] = [timeMs(firstSeen), timeMs(lastSeen)]
  const span =
    from !== undefined && to !== undefined && to - from >= 1_000 ? ` in ${duration(to - from)}` : ''
  return ` (${counted(count, 'time')}${span})`
}

function fieldsOf(input: SummaryInput, said: EventFacts): Field[] {
  const { event, object } = input
  const { reason, count, firstSeen = '', lastSeen = '', container, kind, reportingComponent = '' } = said
  const host = text(object, 'source', 'host') || text(object, 'deprecatedSource', 'host')
  const scheduled = reason === 'Scheduled' ? (/ to (\S+)$/.exec(said.message)?.[1] ?? '') : ''
  return [
    field('Reason', reason),
    field('Count', count > 1 ? count : ''),
    field('Since', count > 1 ? firstSeen : ''),
    field('Last seen', (agoMs(input, lastSeen) ?? 0) > 60_000 ? lastSeen : ''),
    field('Container', container),
    field('Node', kind === 'Node' ? '' : host || scheduled),
    field('From', reportingComponent),
    field('Noticed', event.synthesized ? 'by comparison after a gap' : ''),
  ]
}

function commandFor(said: EventFacts, target: Target): string {
  const { reason, kind, message, container } = said
  const crashed =
    (reason === 'BackOff' && !isAboutPull(message)) ||
    (reason === 'Killing' && /restarted/.test(message)) ||
    /^OOMKill(?:ed|ing)$/.test(reason)
  if (kind === 'Pod' && crashed) return previousLogs(target, container)
  if (kind === 'Job' && /^(?:BackoffLimitExceeded|DeadlineExceeded|PodFailurePolicy)$/.test(reason)) {
    return kubectl(target, 'logs', quoted(`job/${target.name}`), '--all-containers')
  }
  return describe(target)
}

const PROBE = /^(Readiness|Liveness|Startup) probe/i

const pull: Meaning = (said) => ` cannot pull ${imageOf(said) ? `image ${imageOf(said)}` : 'its image'}`

/** Reasons of kubelet and scheduler about pods. */
const POD_REASONS: readonly (readonly [string, Meaning])[] = [
  [
    'BackOff',
    (said) => {
      const times = said.count > 1 ? `, ${ordinal(said.count)} back-off` : ''
      if (isAboutPull(said.message))
        return { severity: 'warning', phrase: `${pullTitle(imageOf(said))}${times}` }
      return { severity: 'error', phrase: ` is crash-looping${times}` }
    },
  ],
  [
    'Failed',
    (said) => {
      if (/^Failed to pull |ErrImage|ImagePull|InvalidImageName/.test(said.message))
        return pullTitle(imageOf(said))
      const cause = said.message.replace(/^Error: /, '')
      return `: ${containerOf(said)} cannot be started${because(cause)}`
    },
  ],
  ['ErrImagePull', pull],
  ['ImagePullBackOff', pull],
  [
    'ErrImageNeverPull',
    (said) => `: ${imageOf(said) || 'its image'} is not on the node, and must not be pulled`,
  ],
  ['InspectFailed', why('has an image that cannot be used')],
  ['InvalidImageName', why('has an image name that is not valid')],
  ['FailedToRetrieveImagePullSecret', why('has no pull secret')],
  ['Pulling', (said) => ` is pulling image ${imageOf(said)}`],
  [
    'Pulled',
    (said) => {
      const took = found(said, / in ([\d.]+(?:ms|s|m[\d.]*s?))\b/)
      if (/already present/.test(said.message)) return ` has image ${imageOf(said)} on its node`
      return ` pulled image ${imageOf(said)}${took && ` in ${took}`}`
    },
  ],
  ['Created', (said) => `: ${containerOf(said)} was created`],
  ['Started', (said) => `: ${containerOf(said)} was started`],
  [
    'Killing',
    (said) => {
      const name = containerOf(said, 'its container')
      const probe = found(said, /failed (liveness|startup) probe/)
      if (probe)
        return { severity: 'warning', phrase: `: ${name} failed its ${probe} probe and is being restarted` }
      if (/will be restarted/.test(said.message))
        return { severity: 'warning', phrase: `: ${name} is being restarted${because(said.message)}` }
      return `: ${name} is being stopped`
    },
  ],
  [
    'Unhealthy',
    (said) => {
      const [, probe] = PROBE.exec(said.message) ?? []
      const name = containerOf(said)
      if (!probe) return `: ${name} is unhealthy${because(said.message)}`
      const cause = said.message.replace(
        /^\w+ probe (?:failed|errored(?: and resulted in \w+ state)?)(?::\s*)?/i,
        '',
      )
      return `: ${name} fails its ${probe.toLowerCase()} probe${because(cause, 90)}`
    },
  ],
  ['ProbeWarning', (said) => `: a probe of ${containerOf(said)} warns${because(said.message, 90)}`],
  ['FailedPostStartHook', (said) => `: the postStart hook of ${containerOf(said)} failed`],
  ['FailedPreStopHook', (said) => `: the preStop hook of ${containerOf(said)} failed`],
  ['ExceededGracePeriod', ' did not stop in its grace period'],
  ['FailedKillPod', why('cannot be stopped', /^error killing pod: /)],
  ['FailedSync', why('cannot be brought to its state', /^error determining status: /)],
  ['Evicted', (said) => ` was evicted${because(evictedFor(said.message))}`],
  ['Preempted', ['warning', (said) => ` had to make room for ${preemptor(said.message)}`]],
  ['Preempting', ['warning', (said) => ` has to make room for ${preemptor(said.message)}`]],
  [
    'TaintManagerEviction',
    (said) =>
      /^Cancel/i.test(said.message)
        ? ' may stay on its node after all'
        : ' must leave its node, because of a taint',
  ],
  ['NodeNotReady', ' is on a node that is not ready'],
  ['FailedScheduling', (said) => ` cannot be scheduled${because(schedulingClause(said.message))}`],
  ['Scheduled', (said) => ` was scheduled on node ${found(said, / to (\S+)$/) || 'some node'}`],
  ['WaitingForGates', ' is held back by a scheduling gate'],
  ['NotTriggerScaleUp', why('fits on no node that could be added', /^pod didn't trigger scale-up: ?/)],
  ['TriggeredScaleUp', ' made the cluster add a node'],
  ['ScaleDown', ' must leave its node, which is being removed'],
  ['FailedCreatePodSandBox', (said) => ` cannot be started: ${sandbox(said.message)}`],
  ['FailedPodSandBoxStatus', why('has a sandbox that does not answer')],
  ['SandboxChanged', ' gets a new sandbox: the old one ended'],
  ['FailedCreatePodContainer', why('cannot be started')],
  ['FailedMount', (said) => mount(said.message)],
  ['FailedMapVolume', (said) => mount(said.message)],
  ['FailedMountOnFilesystemMismatch', (said) => mount(said.message)],
  [
    'FailedAttachVolume',
    (said) => {
      const volume = found(said, /volume "([^"]{1,200})"/)
      const name = volume ? `volume ${volume}` : 'its volume'
      if (/Multi-Attach/.test(said.message)) return ` cannot attach ${name}: another node still has it`
      return ` cannot attach ${name}${because(lastCause(said.message.replace(/^[^"]{0,100}"[^"]{0,300}" ?: /, '')))}`
    },
  ],
  ['SuccessfulAttachVolume', (said) => ` attached volume ${found(said, /volume "([^"]{1,200})"/)}`],
  ['SuccessfulMountVolume', ' mounted its volume'],
  ['NetworkNotReady', ' waits: the network of its node is not ready'],
  ['HostPortConflict', ' needs a port of the node that is taken'],
  ['NodeAffinity', ' does not fit on its node any more'],
  ['UnexpectedAdmissionError', why('was refused by its node')],
  ['OutOfcpu', ' was refused by its node: too little CPU'],
  ['OutOfmemory', ' was refused by its node: too little memory'],
  ['OutOfpods', ' was refused by its node: too many pods'],
  ['DNSConfigForming', ' has more name servers or search domains than a pod can have'],
  ['OOMKilled', ['error', (said) => `: ${containerOf(said)} was killed, out of memory`]],
  ['OOMKilling', ['error', (said) => `: ${containerOf(said)} was killed, out of memory`]],
  ['FailedPrepareDynamicResources', why('cannot get its devices')],
  ['ResizeError', why('cannot be resized')],
  ['ResizeCompleted', ' was resized'],
]

/** A back-off: of pulling, not of a container that is called `puller`. */
function isAboutPull(message: string): boolean {
  return /^Back-off pulling /i.test(message)
}

function pullTitle(image: string): string {
  return ` cannot pull ${image ? `image ${image}` : 'its image'}`
}

/** The cause at the end of a chain of wrapped errors. */
function lastCause(message: string): string {
  const plain = withoutRpc(message.slice(0, 2_000))
  return clause(
    plain
      .split(/ ?: (?=\S)/)
      .slice(-2)
      .join(': '),
    110,
  )
}

function mount(message: string): string {
  const [, one = ''] = /for volume "([^"]{1,200})"/.exec(message) ?? []
  const [, several = ''] = /unmounted volumes=\[([^\]]{1,200})\]/.exec(message) ?? []
  const volume = one || several
  const cause =
    /timed out waiting|context deadline exceeded/.test(message) && one === ''
      ? 'timed out'
      : mountCause(message)
  return ` cannot mount volume${volume ? ` ${clause(volume, 80)}` : 's'}${because(cause)}`
}

function mountCause(message: string): string {
  const [, missing] =
    /((?:configmap|secret|persistentvolumeclaim) "[^"]{1,200}" not found)/i.exec(message) ?? []
  return missing ?? lastCause(message)
}

function sandbox(message: string): string {
  if (/network|cni|plugin type/i.test(message))
    return `its network cannot be set up${because(lastCause(message), 90)}`
  return `its sandbox cannot be made${because(lastCause(message), 90)}`
}

function preemptor(message: string): string {
  const [, name] = /by (?:pod )?([\w.-]+(?:\/[\w.-]+)?)/i.exec(message) ?? []
  return name && name !== 'a' && !/^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(name)
    ? `pod ${name}`
    : 'a pod of higher priority'
}

const REASONS = new Map<string, Meaning>([
  ...CONTROLLER_REASONS,
  ...CLUSTER_REASONS,
  ...POD_REASONS.map(([reason, meaning]) => [`Pod/${reason}`, meaning] as const),
])
