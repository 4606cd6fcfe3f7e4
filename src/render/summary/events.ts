import { evictedFor } from './pods.ts'
import { containerOf, found, imageOf, type Meaning, why } from './reasons.ts'
import { schedulingClause } from './scheduling.ts'
import { because, clause, ordinal, withoutRpc } from './wording.ts'

const PROBE = /^(Readiness|Liveness|Startup) probe/i

const pull: Meaning = (said) => ` cannot pull ${imageOf(said) ? `image ${imageOf(said)}` : 'its image'}`

/** What kubelet and scheduler say of pods. */
export const POD_REASONS: readonly (readonly [string, Meaning])[] = [
  [
    'BackOff',
    (said) => {
      const times = said.count > 1 ? `, ${ordinal(said.count)} back-off` : ''
      if (isAboutPull(said.message))
        return { severity: 'warning', says: `${pullTitle(imageOf(said))}${times}` }
      return { severity: 'error', says: ` is crash-looping${times}` }
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
        return { severity: 'warning', says: `: ${name} failed its ${probe} probe and is being restarted` }
      if (/will be restarted/.test(said.message))
        return { severity: 'warning', says: `: ${name} is being restarted${because(said.message)}` }
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
  ['ExceededGracePeriod', ' did not stop in its grace period, it was killed'],
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
export function isAboutPull(message: string): boolean {
  return /^Back-off pulling /i.test(message)
}

function pullTitle(image: string): string {
  return ` cannot pull ${image ? `image ${image}` : 'its image'}`
}

/** The cause at the end of a chain that begins with names and paths that nobody reads. */
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
