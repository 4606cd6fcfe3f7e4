import type { LogSettings } from '../../model/delivery.ts'
import type { EventHeader } from '../../model/event.ts'
import { isMap } from '../../text/plain-data.ts'

/** The log to read for an event. */
export interface LogTarget {
  namespace: string
  pod: string
  /** Undefined: the pod's only container, or its first one. */
  container: string | undefined
  previous: boolean
  /** `previous` was not chosen by the rule, and other runs of the container may have the log. */
  anyRun: boolean
  /** The event is the deletion of the pod: its log went with it. */
  deleted: boolean
}

/**
 * Returns the log that belongs to an event: of the Pod that changed, or of the Pod that an Event is about. The container is that
 * of the rule, else that of the Event (`spec.containers{app}`), else the one that the Pod's status shows to have failed, else the
 * default or first one. Undefined for events about other objects.
 *
 * An Event is believed only about Pods of its own namespace, as the API server demands of Events
 * (pkg/apis/core/validation/events.go): nobody shall get a log of another namespace into a message by writing an Event.
 */
export function logTarget(
  event: EventHeader,
  objectJson: Buffer,
  { container, previous }: LogSettings,
): LogTarget | undefined {
  const { event: kubeEvent, namespace } = event
  if (namespace === undefined || !isLabel(namespace)) return undefined
  if (kubeEvent) {
    const { regarding, reason } = kubeEvent
    const { kind, name = '', namespace: of = namespace, fieldPath } = regarding
    if (kind !== 'Pod' || of !== namespace || !isSubdomain(name)) return undefined
    return {
      namespace,
      pod: name,
      container: container ?? containerIn(fieldPath),
      previous: previous ?? reason === 'BackOff',
      anyRun: previous === undefined,
      deleted: false,
    }
  }
  if (event.kind !== 'Pod' || event.apiVersion !== 'v1' || !isSubdomain(event.name)) return undefined
  const pod = mapOf(JSON.parse(objectJson.toString()))
  const failed = container === undefined ? failedContainer(pod) : statusOf(pod, container)
  return {
    namespace,
    pod: event.name,
    container: container ?? nameOf(failed) ?? defaultContainer(pod),
    previous: previous ?? (wasRestarted(failed) && !isTerminated(failed)),
    anyRun: previous === undefined,
    deleted: event.type === 'DELETED',
  }
}

/** The container in an Event's field path: `spec.containers{app}`, `spec.initContainers{setup}`. */
function containerIn(fieldPath = ''): string | undefined {
  return /^spec\.(?:c|initC|ephemeralC)ontainers\{([a-z0-9][-a-z0-9]{0,62})\}$/.exec(fieldPath)?.[1]
}

type Data = Readonly<Record<string, unknown>>

/** The worst state comes first. */
const FAILED: readonly ((status: Data) => boolean)[] = [
  (status) => isWaiting(status) && wasRestarted(status),
  (status) => mapOf(mapOf(status['state'])['terminated'])['exitCode'] !== 0 && isTerminated(status),
  (status) => isWaiting(status) && !/^(PodInitializing|ContainerCreating)$/.test(waitingReason(status)),
  wasRestarted,
  isTerminated,
]

function failedContainer(pod: Data): Data | undefined {
  const all = statuses(pod)
  for (const isFailed of FAILED) {
    const found = all.find(isFailed)
    if (found) return found
  }
  return undefined
}

function statuses(pod: Data): Data[] {
  const status = mapOf(pod['status'])
  const keys = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses']
  return keys.flatMap((key) => listOf(status[key]).map(mapOf)).filter((it) => nameOf(it) !== undefined)
}

function statusOf(pod: Data, container: string): Data | undefined {
  return statuses(pod).find((it) => it['name'] === container)
}

function defaultContainer(pod: Data): string | undefined {
  const annotations = mapOf(mapOf(pod['metadata'])['annotations'])
  const first = mapOf(listOf(mapOf(pod['spec'])['containers'])[0])
  return nameOf({ name: annotations['kubectl.kubernetes.io/default-container'] }) ?? nameOf(first)
}

function isWaiting(status: Data): boolean {
  return mapOf(status['state'])['waiting'] !== undefined
}

function waitingReason(status: Data): string {
  return String(mapOf(mapOf(status['state'])['waiting'])['reason'] ?? '')
}

function isTerminated(status: Data | undefined): boolean {
  return mapOf(status?.['state'])['terminated'] !== undefined
}

function wasRestarted(status: Data | undefined): boolean {
  return mapOf(status?.['lastState'])['terminated'] !== undefined
}

function nameOf(it: Data | undefined): string | undefined {
  const name = it?.['name']
  return typeof name === 'string' && isLabel(name) ? name : undefined
}

function mapOf(value: unknown): Data {
  return isMap(value) ? value : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Names become parts of a path: what is not a name of Kubernetes does not get there. */
function isLabel(name: string): boolean {
  return /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)
}

function isSubdomain(name: string): boolean {
  return name.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(name)
}
