import { createHash } from 'node:crypto'
import type { Resource } from '../../model/event.ts'
import { type BuiltInKind, builtInKinds, isEventKind, pluralOf } from '../../rules/kind.ts'
import { nearest } from '../../text/closest-match.ts'
import { isMap } from '../../text/plain-data.ts'

/** An object as an API server sends it. */
export interface CompletedObject {
  resource: Resource
  object: Record<string, unknown>
}

export interface ObjectFault {
  path: readonly PropertyKey[]
  message: string
  hint?: string
}

type Completed = ({ ok: true } & CompletedObject) | { ok: false; faults: readonly ObjectFault[] }

/**
 * Adds what an API server adds: apiVersion of built-in kinds, namespace, name, uid and times; for an Event also type, count and references.
 * Given values stay.
 */
export function complete(short: unknown, atMs: number): Completed {
  const given = expandShortForm(short)
  const faults = faultsOf(given).map((it) => ({ ...it, path: pathAsGiven(it.path, short) }))
  if (faults.length > 0) return { ok: false, faults }
  const written = asWatched(given as PlainMap)
  const kind = textIn(written, 'kind') as string
  const metadata = isMap(written['metadata']) ? written['metadata'] : {}
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
  if (!isMap(given)) return [{ path: [], message: 'an object must be a map with a kind' }]
  const kind = given['kind']
  if (typeof kind !== 'string' || kind === '')
    return [{ path: ['kind'], message: 'an object needs a kind', hint: 'such as kind: Deployment' }]
  const { apiVersion, metadata } = given
  const faults: ObjectFault[] = []
  if (apiVersion !== undefined && typeof apiVersion !== 'string')
    faults.push({ path: ['apiVersion'], message: '"apiVersion" must be text' })
  if (metadata === undefined || metadata === null) return faults
  if (!isMap(metadata)) return [...faults, { path: ['metadata'], message: '"metadata" must be a map' }]
  for (const key of ['name', 'namespace', 'uid', 'resourceVersion'])
    faults.push(...textFaults(metadata[key], ['metadata', key]))
  for (const key of ['labels', 'annotations']) {
    const values = metadata[key]
    if (values === undefined || values === null) continue
    if (!isMap(values)) faults.push({ path: ['metadata', key], message: `"${key}" must be a map` })
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

/** Converts an Event with `regarding` and no apiVersion to core/v1, the version that watches use. */
function asWatched(given: PlainMap): PlainMap {
  if (given['kind'] !== 'Event' || given['apiVersion'] !== undefined) return given
  const { regarding, note, ...rest } = given
  return {
    ...(regarding !== undefined && { involvedObject: regarding }),
    ...(note !== undefined && { message: note }),
    ...rest,
  }
}

function completeEvent(event: PlainMap, namespace: string | undefined, time: string): PlainMap {
  const key = event['regarding'] === undefined ? 'involvedObject' : 'regarding'
  const about = event[key]
  const isNew = event['eventTime'] !== undefined || event['deprecatedFirstTimestamp'] !== undefined
  return {
    type: 'Normal',
    ...(isNew ? {} : { firstTimestamp: time, lastTimestamp: time, count: 1 }),
    ...event,
    ...(isMap(about) && { [key]: completeReference(about, namespace) }),
  }
}

/** Completes owner references, which may have only a kind and a name. */
function withOwners(metadata: PlainMap, namespace: string | undefined): PlainMap {
  const { ownerReferences } = metadata
  if (!Array.isArray(ownerReferences)) return metadata
  const whole = ownerReferences.map((it: unknown) => {
    if (!isMap(it)) return it
    const { namespace: _, ...reference } = completeReference(it, namespace)
    return reference
  })
  return { ...metadata, ownerReferences: whole }
}

/** The default time of managed fields is now. */
function withWriters(metadata: PlainMap, time: string): PlainMap {
  const { managedFields } = metadata
  if (!Array.isArray(managedFields)) return metadata
  return {
    ...metadata,
    managedFields: managedFields.map((it: unknown) => (isMap(it) ? { time, ...it } : it)),
  }
}

function completeReference(about: PlainMap, ofEvent: string | undefined): PlainMap {
  const kind = textIn(about, 'kind') ?? ''
  const name = textIn(about, 'name')
  const found = resourceOf(textIn(about, 'apiVersion'), kind, ofEvent)
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

/** As in Kubernetes, an equal Event about the same object is the same Event, whose count rises. */
function nameOfEvent(event: PlainMap): string {
  const about = event['involvedObject'] ?? event['regarding']
  const keys = ['type', 'reason', 'message', 'note', 'source', 'reportingComponent', 'reportingController']
  const hash = hashOf([about, ...keys.map((key) => event[key])])
  return `${textIn(about, 'name') ?? 'event'}.${hash.slice(0, 16)}`
}

/** Returns the same uid for the same object. */
function uidOf({ group, kind }: Resource, namespace: string | undefined, name: string): string {
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

type FoundResource = { resource: Resource } | { fault: string; hint?: string }

/** Returns the resource without a cluster: built-in kinds are known, for others the usual plural is assumed. */
function resourceOf(
  apiVersion: string | undefined,
  kind: string,
  namespace: string | undefined,
): FoundResource {
  if (apiVersion === undefined) return builtIn(kind)
  const slash = apiVersion.indexOf('/')
  const group = slash === -1 ? '' : apiVersion.slice(0, slash)
  const version = apiVersion.slice(slash + 1)
  const known = builtInKinds.find((it) => it.kind === kind && it.group === group)
  if (known) return { resource: { ...resourceIn(known), version } }
  return {
    resource: { group, version, kind, plural: pluralOf(kind), namespaced: namespace !== undefined },
  }
}

/** For a kind in several groups returns the one of the core group, as kubectl does. */
function builtIn(kind: string): FoundResource {
  const known = builtInKinds.filter((it) => it.kind === kind)
  const chosen = known.find(({ group }) => group === '') ?? known[0]
  if (chosen) return { resource: resourceIn(chosen) }
  const near = nearest(
    kind,
    builtInKinds.map((it) => it.kind),
  )
  const hint = near === undefined ? 'such as apiVersion: stable.example.com/v1' : `did you mean "${near}"?`
  return { fault: `"${kind}" is not a built-in kind: it needs an apiVersion`, hint }
}

function resourceIn({ kind, plural, group, namespaced }: BuiltInKind): Resource {
  return { group, version: group === 'autoscaling' ? 'v2' : 'v1', kind, plural, namespaced }
}

const OF_METADATA = ['name', 'namespace', 'labels', 'annotations', 'ownerReferences', 'creationTimestamp']

/** Moves name, namespace, labels and so on from the top of an object into `metadata`, if it has none. */
export function expandShortForm(given: unknown): unknown {
  if (!isMap(given) || given['metadata'] !== undefined) return given
  const entries = Object.entries(given)
  const own = entries.filter(([key]) => OF_METADATA.includes(key))
  if (own.length === 0) return given
  const rest = entries.filter(([key]) => !OF_METADATA.includes(key))
  return { ...Object.fromEntries(rest), metadata: Object.fromEntries(own) }
}

/** Returns the path in the given object for one in the expanded object. */
function pathAsGiven(path: readonly PropertyKey[], given: unknown): readonly PropertyKey[] {
  const [first, ...inner] = path
  return first === 'metadata' && isMap(given) && given['metadata'] === undefined ? inner : path
}

/** A map of YAML or JSON. */
export type PlainMap = Readonly<Record<string, unknown>>

/** Returns a text that is not empty, else undefined. */
export function textIn(map: unknown, key: string): string | undefined {
  const value = isMap(map) ? map[key] : undefined
  return typeof value === 'string' && value !== '' ? value : undefined
}
