import type { Source, Transition } from '../../model/change.ts'
import { controllersOf } from '../../model/controllers.ts'
import {
  type ChangeType,
  type ClusterEvent,
  type FieldChange,
  type KnownObject,
  type KubeEventView,
  NO_SURROUNDINGS,
  type ObjectRef,
  type RelatedKeys,
  type RelatedMetadata,
  type RelatedTexts,
  type Resource,
  type WayStep,
} from '../../model/event.ts'
import { versionInId } from '../../model/transition.ts'
import { fieldChanges } from '../../rules/field-changes.ts'
import { apiVersionOf, pathOf } from '../client/discovery.ts'
import { parseObject, readMember, readValue } from './json-bytes.ts'
import { isEventResource, readKubeEvent, scanKubeEvent } from './kube-event.ts'
import { readLabels, scanManager, strings } from './scan.ts'
import { isSecretResource, objectJsonOf } from './trim.ts'

export interface NormaliseContext {
  /** The cluster's name in the configuration. */
  cluster: string
  /** Salts the hashes of Secret values. */
  salt: Buffer
  /** Related metadata; without it only the object itself is used. */
  surroundings?: RelatedMetadata | undefined
  /** False where no rule uses owners: then events have none. */
  owners?: boolean
  /** Related metadata that templates name. */
  inTemplates?: RelatedKeys
  /** Which changes of such objects rules use: they come first. */
  named?: ((resource: Resource) => ((way: readonly WayStep[]) => boolean) | undefined) | undefined
}

/** Makes an event of a transition. Everything that must be parsed is parsed on first use. */
export function normalise(source: Source, transition: Transition, context: NormaliseContext): ClusterEvent {
  return new ScannedEvent(source, transition, context)
}

class ScannedEvent implements ClusterEvent {
  readonly #source: Source
  readonly #transition: Transition
  readonly #context: NormaliseContext
  #object: Record<string, unknown> | undefined
  #json: Buffer | undefined
  #labels: Record<string, string> | undefined
  #annotations: Record<string, string> | undefined
  #old: Readonly<Record<string, unknown>> | null | undefined
  /** Null when they are not known. */
  #changes: readonly FieldChange[] | null | undefined
  #event: KubeEventView | undefined
  #owners: readonly ObjectRef[] | undefined
  /** '' when there is none. */
  #manager: string | undefined
  /** Null when it is not known. */
  #regarded: KnownObject | null | undefined

  constructor(source: Source, transition: Transition, context: NormaliseContext) {
    this.#source = source
    this.#transition = transition
    this.#context = context
  }

  get id(): string {
    const { uid, type } = this.#transition
    return `${this.#source.clusterUid}/${uid}/${versionInId(this.#transition)}/${type}`
  }

  get type(): ChangeType {
    return this.#transition.type
  }

  get cluster(): string {
    return this.#context.cluster
  }

  get resource(): Resource {
    return this.#source.resource
  }

  get apiVersion(): string {
    return apiVersionOf(this.#source.resource)
  }

  get kind(): string {
    return this.#source.resource.kind
  }

  get path(): string {
    return pathOf(this.#source.resource, this.#transition.namespace, this.#transition.name)
  }

  get namespace(): string | undefined {
    return this.#transition.namespace || undefined
  }

  get name(): string {
    return this.#transition.name
  }

  get uid(): string {
    return this.#transition.uid
  }

  get resourceVersion(): string {
    return this.#transition.resourceVersion
  }

  get time(): string {
    return new Date(this.#transition.observedAtMs).toISOString()
  }

  get deselected(): boolean {
    return this.#transition.deselected === true
  }

  get synthesized(): boolean {
    return this.#transition.synthesized
  }

  get isCatchUp(): boolean {
    return this.#transition.isCatchUp === true
  }

  get labels(): Readonly<Record<string, string>> {
    this.#labels ??= readLabels(this.#transition.labelsJson)
    return this.#labels
  }

  get annotations(): Readonly<Record<string, string>> {
    this.#annotations ??= this.#readAnnotations()
    return this.#annotations
  }

  get event(): KubeEventView | undefined {
    if (!isEventResource(this.#source.resource)) return undefined
    const { object } = this.#transition
    this.#event ??= (object && scanKubeEvent(object)) ?? readKubeEvent(this.object)
    return this.#event
  }

  annotation(key: string): string | undefined {
    const { object } = this.#transition
    if (this.#annotations || !object || isSecretResource(this.#source.resource)) return this.annotations[key]
    const value = object.annotations && readMember(object.bytes, object.annotations[0], key)
    return typeof value === 'string' ? value : undefined
  }

  get created(): string | undefined {
    const { object } = this.#transition
    const range = object?.created
    const { metadata } = object ? {} : (this.object as { metadata?: { creationTimestamp?: unknown } })
    const created = object ? range && readValue(object.bytes, ...range) : metadata?.creationTimestamp
    return typeof created === 'string' ? created : undefined
  }

  get changes(): readonly FieldChange[] | undefined {
    if (this.#changes === undefined) {
      const before = this.#transition.type === 'MODIFIED' ? this.oldObject : undefined
      this.#changes = (before && this.#changesSince(before)) ?? null
    }
    return this.#changes ?? undefined
  }

  get owners(): readonly ObjectRef[] | undefined {
    const { surroundings = NO_SURROUNDINGS, owners = true } = this.#context
    if (!owners) return undefined
    this.#owners ??= this.#findOwners(surroundings)
    return this.#owners
  }

  get manager(): string | undefined {
    const { type, object, manager } = this.#transition
    if (type === 'DELETED' || isEventResource(this.#source.resource)) return undefined
    this.#manager ??= manager ?? (object && scanManager(object)) ?? ''
    return this.#manager || undefined
  }

  get namespaceLabels(): Readonly<Record<string, string>> | undefined {
    const { namespace } = this
    return namespace === undefined ? undefined : this.#context.surroundings?.namespaceLabels(namespace)
  }

  get namespaceAnnotations(): Readonly<Record<string, string>> | undefined {
    const { namespace } = this
    return namespace === undefined ? undefined : this.#context.surroundings?.namespaceAnnotations?.(namespace)
  }

  get related(): RelatedTexts | undefined {
    const { inTemplates } = this.#context
    if (!inTemplates) return undefined
    const found = (Object.keys(inTemplates) as (keyof RelatedKeys)[]).flatMap((field) => {
      const texts = inTemplates[field].length > 0 ? this[field] : undefined
      const known = texts ? inTemplates[field].filter((key) => Object.hasOwn(texts, key)) : []
      return known.length > 0 ? [[field, Object.fromEntries(known.map((key) => [key, texts?.[key]]))]] : []
    })
    return found.length > 0 ? Object.fromEntries(found) : undefined
  }

  get regardingAnnotations(): Readonly<Record<string, string>> | undefined {
    return this.#regarding?.annotations
  }

  get regardingLabels(): Readonly<Record<string, string>> | undefined {
    return this.#regarding?.labels
  }

  get regardingOwners(): readonly ObjectRef[] | undefined {
    return this.#context.owners === false ? undefined : this.#regarding?.owners
  }

  get lacksOwners(): boolean {
    if (this.#context.owners === false) return false
    if (isEventResource(this.#source.resource)) return this.#regarding?.lacksOwners ?? false
    const { owners = [] } = this
    return this.#context.surroundings?.lacksOwners?.(owners, this.#transition.namespace) ?? false
  }

  get oldObject(): Readonly<Record<string, unknown>> | undefined {
    const { type } = this.#transition
    if (type === 'ADDED') return undefined
    if (type === 'DELETED') return this.object
    if (this.#old === undefined) this.#old = this.#before() ?? null
    return this.#old ?? undefined
  }

  get object(): Readonly<Record<string, unknown>> {
    this.#object ??= JSON.parse(this.objectJson.toString()) as Record<string, unknown>
    return this.#object
  }

  get objectJson(): Buffer {
    this.#json ??= transitionJson(this.#source.resource, this.#transition, this.#context.salt)
    return this.#json
  }

  /** The object that an Event is about. References from Events may leave the namespace out. */
  get #regarding(): KnownObject | null {
    if (this.#regarded !== undefined) return this.#regarded
    const { surroundings } = this.#context
    const regarding = surroundings && this.event?.regarding
    const { namespace } = this
    const isComplete = regarding?.namespace !== undefined || namespace === undefined
    const ref = regarding && !isComplete ? { ...regarding, namespace } : regarding
    this.#regarded = (ref && surroundings?.object(ref)) ?? null
    return this.#regarded
  }

  /** In another version of its API an object has other fields: each of them would be a change. */
  #before(): Readonly<Record<string, unknown>> | undefined {
    const old = keptObject(this.#transition)
    const before = old?.['apiVersion']
    return before === undefined || before === this.object['apiVersion'] ? old : undefined
  }

  /**
   * Finds the owners. For a deletion that no watch received, they are those of the object as it was kept, else of its remembered
   * metadata.
   */
  #findOwners(surroundings: RelatedMetadata): readonly ObjectRef[] {
    const { object, old, namespace, name, uid } = this.#transition
    if (object || old) {
      const references = controllersOf(object ?? this.object)
      return surroundings.ownersOf(references, namespace)
    }
    const { apiVersion, kind } = this
    return surroundings.object({ apiVersion, kind, namespace, name, uid })?.owners ?? []
  }

  /** An event goes on without them rather than not at all. */
  #changesSince(before: Readonly<Record<string, unknown>>): readonly FieldChange[] | undefined {
    try {
      const { resource } = this.#source
      return fieldChanges(before, this.object, resource, this.#context.named?.(resource))
    } catch {
      return undefined
    }
  }

  #readAnnotations(): Record<string, string> {
    const { object, old } = this.#transition
    if ((!object && old) || isSecretResource(this.#source.resource))
      return strings((this.object as { metadata?: { annotations?: unknown } }).metadata?.annotations)
    if (!object?.annotations) return {}
    return strings(JSON.parse(object.bytes.toString('utf8', ...object.annotations)))
  }
}

/** The object of a transition as JSON that may leave: as it came, as it was kept, else what is known of it. */
function transitionJson(resource: Resource, transition: Transition, salt: Buffer): Buffer {
  const { object, old, isTrimmed } = transition
  if (object && isTrimmed) return object.bytes
  if (object) return objectJsonOf(resource, object, salt)
  return old?.() ?? Buffer.from(JSON.stringify(tombstone(resource, transition)))
}

/** The object as it was before, as it was kept. Undefined when it cannot be read: an event goes on without it. */
function keptObject({ old }: Transition): Readonly<Record<string, unknown>> | undefined {
  const json = old?.()
  return json && parseObject(json)
}

/** What is left of an object whose deletion nobody saw. */
function tombstone(resource: Resource, transition: Transition): object {
  const { namespace, name, uid, resourceVersion, labelsJson } = transition
  const labels = readLabels(labelsJson)
  const metadata = { ...(namespace && { namespace }), name, uid, resourceVersion, labels }
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata }
}
