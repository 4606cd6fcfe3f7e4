import type { Field } from '../../sink/index.ts'
import { at, list, text, timeMs } from './read.ts'
import type { Told } from './told.ts'

/** When it was observed. */
export function nowMs({ event }: Told): number | undefined {
  return timeMs(event.time)
}

/** How long ago something was, as seen from the observation; undefined when a time is missing. */
export function agoMs(told: Told, time: string): number | undefined {
  const now = nowMs(told)
  const then = timeMs(time)
  return now === undefined || then === undefined ? undefined : now - then
}

/** A status is written at once, so what changed longer ago is not what this message is about. */
const RECENT_MS = 30_000

export function isRecent(told: Told, time: string): boolean {
  const ago = agoMs(told, time)
  return ago !== undefined && ago < RECENT_MS
}

/** What becomes ready in its first minutes does so for the first time. */
const SETTLED_MS = 10 * 60_000

/** Is it older than a first start takes? Not known is no. */
export function isSettled(told: Told): boolean {
  const age = agoMs(told, text(told.object, 'metadata', 'creationTimestamp'))
  return age !== undefined && age > SETTLED_MS
}

/** What is being deleted stops its parts: that they ended or are missing is no trouble of its own. */
export function isEnding({ object }: Told): boolean {
  return text(object, 'metadata', 'deletionTimestamp') !== ''
}

export function field(title: string, value: string | number | undefined): Field {
  return { title, value: value === undefined ? '' : String(value) }
}

/** `Deployment web`: what controls it; a ReplicaSet is named by the Deployment that made it. '' when nothing does. */
export function ownerOf({ object }: Told): string {
  const owner = list(object, 'metadata', 'ownerReferences').find((it) => at(it, 'controller') === true)
  const kind = text(owner, 'kind')
  const name = text(owner, 'name')
  if (kind === '' || name === '') return ''
  const hash = text(object, 'metadata', 'labels', 'pod-template-hash')
  const made = kind === 'ReplicaSet' && hash !== '' && name.endsWith(`-${hash}`)
  return made ? `Deployment ${name.slice(0, -hash.length - 1)}` : `${kind} ${name}`
}

/** Parts of Kubernetes that answer to what others wrote. */
const PARTS =
  /^(?:kube-(?:controller-manager|scheduler|apiserver|proxy)|kubelet|cloud-controller-manager|k3s|Go-http-client)$/

/** Who wrote it, where that is somebody whom it helps to know. */
export function writerOf({ event: { manager = '' } }: Told): string {
  return PARTS.test(manager) ? '' : manager
}
