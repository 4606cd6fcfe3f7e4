import type { Source, Transition } from '../change.ts'
import type { ChangeType, ClusterEvent, Resource } from '../event.ts'
import type { Surroundings } from '../surroundings.ts'
import { readFrame } from '../watch/frame.ts'
import { type NormaliseContext, normalise } from '../watch/normalise.ts'
import { titleOf } from '../watch/resolve.ts'
import { objectJsonOf } from '../watch/trim.ts'

/** One change of one object, whole: what a watch would say of it. */
export interface Happening {
  type: ChangeType
  resource: Resource
  object: Readonly<Record<string, unknown>>
  /** The object before; it counts where old objects are kept. */
  old?: Readonly<Record<string, unknown>> | undefined
  synthesized?: boolean | undefined
  atMs: number
}

export interface EventContext extends NormaliseContext {
  /** Are old objects of this resource kept? */
  keepsOld(resource: Resource): boolean
  surroundings: Surroundings
}

/** Makes the event of it by what reads the frames of a watch. Undefined where a watch could not read it either. */
export function eventOf(happening: Happening, context: EventContext): ClusterEvent | undefined {
  const { type, resource, object, atMs, synthesized = false } = happening
  const frame = readFrame(frameOf(type, object))
  if (frame.kind !== 'change') return undefined
  const { uid, resourceVersion, namespace, name, labelsJson } = frame.object
  const identity = { uid, resourceVersion, namespace, name, labelsJson }
  const old = context.keepsOld(resource) ? oldOf(happening, context.salt) : undefined
  const transition: Transition = {
    type,
    ...identity,
    observedAtMs: atMs,
    synthesized,
    object: frame.object,
    ...(old && { old: () => old }),
  }
  return normalise(sourceOf(resource), transition, context)
}

function frameOf(type: ChangeType, object: Happening['object']): Buffer {
  return Buffer.from(`{"type":"${type}","object":${JSON.stringify(object)}}`)
}

function oldOf({ resource, old }: Happening, salt: Buffer): Buffer | undefined {
  const frame = old && readFrame(frameOf('ADDED', old))
  return frame?.kind === 'change' ? objectJsonOf(resource, frame.object, salt) : undefined
}

/** Stands for the watch that would have said it. */
export function sourceOf(resource: Resource): Source {
  const known = sources.get(resource)
  if (known) return known
  const title = titleOf(resource)
  const source: Source = {
    key: `dry-run/${title}`,
    title,
    resource,
    namespace: '',
    labelSelector: '',
    fieldSelector: '',
    initial: 'now',
    clusterUid: 'dry-run',
    spelling: title,
    custom: false,
  }
  sources.set(resource, source)
  return source
}

const sources = new WeakMap<Resource, Source>()
