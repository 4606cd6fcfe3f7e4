import { createHash } from 'node:crypto'
import type { Resource } from '../event.ts'
import { isEventKind } from '../rules/kind.ts'
import { isPlainMap, type PlainMap, textIn } from './plain.ts'
import { resourceOf } from './resource.ts'
import { pathAsGiven, unshortened } from './short-object.ts'

/** A whole object, as an API server would send it. */
export interface WholeObject {
  resource: Resource
  object: Record<string, unknown>
}

/** What is wrong with an object, and where in it. */
export interface ObjectFault {
  path: readonly PropertyKey[]
  message: string
  hint?: string
}

export type Completed = ({ ok: true } & WholeObject) | { ok: false; faults: readonly ObjectFault[] }

/**
 * Fills in what an API server would have filled in: apiVersion of built-in kinds, namespace, name and uid, times; of an
 * Event all but what it says. What is given stays as it is.
 */
export function complete(short: unknown, atMs: number): Completed {
  const given = unshortened(short)
  const faults = faultsOf(given).map((it) => ({ ...it, path: pathAsGiven(it.path, short) }))
  if (faults.length > 0) return { ok: false, faults }
  const written = asWatched(given as PlainMap)
  const kind = textIn(written, 'kind') as string
  const metadata = isPlainMap(written['metadata']) ? written['metadata'] : {}
  const about = written['involvedObject'] ?? written['regarding']
  const namespace = textIn(metadata, 'namespace') ?? textIn(about, 'namespace')
  const found = resourceOf(textIn(written, 'apiVersion'), kind, namespace)
  if ('fault' in found) {
    const { fault: message, hint } = found
    return { ok: false, faults: [{ path: ['kind'], message, ...(hint !== undefined && { hint }) }] }
  }
  const { resource } = found
  const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`
  const place = resource.namespaced ? { namespace: namespace ?? 'default' } : {}
  const time = new Date(atMs).toISOString().replace(/\.\d+Z$/, 'Z')
  const rest = isEventKind(resource) ? completeEvent(written, place.namespace, time) : written
  const name = textIn(metadata, 'name') ?? (isEventKind(resource) ? nameOfEvent(rest) : kind.toLowerCase())
  const uid = uidOf(resource, place.namespace, name)
  return {
    ok: true,
    resource,
    object: {
      ...rest,
      apiVersion,
      kind,
      metadata: {
        name,
        ...place,
        uid,
        creationTimestamp: time,
        ...withWriters(withOwners(metadata, place.namespace), time),
      },
    },
  }
}

function faultsOf(given: unknown): ObjectFault[] {
  if (!isPlainMap(given)) return [{ path: [], message: 'an object is a map with a kind' }]
  const kind = given['kind']
  if (typeof kind !== 'string' || kind === '')
    return [{ path: ['kind'], message: 'an object needs a kind', hint: 'such as kind: Deployment' }]
  const { apiVersion, metadata } = given
  const faults: ObjectFault[] = []
  if (apiVersion !== undefined && typeof apiVersion !== 'string')
    faults.push({ path: ['apiVersion'], message: '"apiVersion" must be text' })
  if (metadata === undefined || metadata === null) return faults
  if (!isPlainMap(metadata)) return [...faults, { path: ['metadata'], message: '"metadata" must be a map' }]
  for (const key of ['name', 'namespace', 'uid', 'resourceVersion'])
    faults.push(...textFaults(metadata[key], ['metadata', key]))
  for (const key of ['labels', 'annotations']) {
    const values = metadata[key]
    if (values === undefined || values === null) continue
    if (!isPlainMap(values)) faults.push({ path: ['metadata', key], message: `"${key}" must be a map` })
    else
      for (const [name, value] of Object.entries(values))
        faults.push(...textFaults(value, ['metadata', key, name]))
  }
  return faults
}

function textFaults(value: unknown, path: readonly string[]): ObjectFault[] {
  if (value === undefined || value === null || typeof value === 'string') return []
  const shown = typeof value === 'object' ? 'this' : JSON.stringify(value)
  const hint = typeof value === 'object' ? undefined : `put it into quotes: "${String(value)}"`
  return [{ path, message: `"${path.at(-1)}" must be text, and ${shown} is none`, ...(hint && { hint }) }]
}

/** An Event that says `regarding` and no apiVersion is read as core/v1 has it, for that is what watches get. */
function asWatched(given: PlainMap): PlainMap {
  if (given['kind'] !== 'Event' || given['apiVersion'] !== undefined) return given
  const { regarding, note, ...rest } = given
  return {
    ...(regarding !== undefined && { involvedObject: regarding }),
    ...(note !== undefined && { message: note }),
    ...rest,
  }
}

const API_VERSIONS: ReadonlyMap<string, string> = new Map([
  ['Pod', 'v1'],
  ['Node', 'v1'],
])

function completeEvent(event: PlainMap, namespace: string | undefined, time: string): PlainMap {
  const key = event['regarding'] === undefined ? 'involvedObject' : 'regarding'
  const about = event[key]
  const isNew = event['eventTime'] !== undefined || event['deprecatedFirstTimestamp'] !== undefined
  return {
    type: 'Normal',
    ...(isNew ? {} : { firstTimestamp: time, lastTimestamp: time, count: 1 }),
    ...event,
    ...(isPlainMap(about) && { [key]: completeReference(about, namespace) }),
  }
}

/** As a test writes them, owners have a kind and a name. */
function withOwners(metadata: PlainMap, namespace: string | undefined): PlainMap {
  const { ownerReferences } = metadata
  if (!Array.isArray(ownerReferences)) return metadata
  const whole = ownerReferences.map((it: unknown) => {
    if (!isPlainMap(it)) return it
    const { namespace: _, ...reference } = completeReference(it, namespace)
    return reference
  })
  return { ...metadata, ownerReferences: whole }
}

/** Who wrote a part of it did so now. */
function withWriters(metadata: PlainMap, time: string): PlainMap {
  const { managedFields } = metadata
  if (!Array.isArray(managedFields)) return metadata
  return {
    ...metadata,
    managedFields: managedFields.map((it: unknown) => (isPlainMap(it) ? { time, ...it } : it)),
  }
}

function completeReference(about: PlainMap, ofEvent: string | undefined): PlainMap {
  const kind = textIn(about, 'kind') ?? ''
  const name = textIn(about, 'name')
  const found = resourceOf(textIn(about, 'apiVersion') ?? API_VERSIONS.get(kind), kind, ofEvent)
  if ('fault' in found) return about
  const { resource } = found
  const namespace = resource.namespaced ? (textIn(about, 'namespace') ?? ofEvent) : undefined
  const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`
  return {
    apiVersion,
    ...(namespace !== undefined && { namespace }),
    ...(name !== undefined && { uid: uidOf(resource, namespace, name) }),
    ...about,
  }
}

/** As Kubernetes does: what says the same of the same object is the same Event, which counts. */
function nameOfEvent(event: PlainMap): string {
  const about = event['involvedObject'] ?? event['regarding']
  const said = ['type', 'reason', 'message', 'note', 'source', 'reportingComponent', 'reportingController']
  const hash = hashOf([about, ...said.map((key) => event[key])])
  return `${textIn(about, 'name') ?? 'event'}.${hash.slice(0, 16)}`
}

/** Of the same object always the same. */
export function uidOf({ group, kind }: Resource, namespace: string | undefined, name: string): string {
  const hash = hashOf([group, kind, namespace, name])
  const parts = [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `4${hash.slice(13, 16)}`,
    `8${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ]
  return parts.join('-')
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex')
}
