/** The type of a change, as the API server sends it. */
export type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** One kind of object as the cluster's discovery names it. `group` is '' for the core group. */
export interface Resource {
  group: string
  version: string
  kind: string
  /** The plural of API paths, such as `deployments`. */
  plural: string
  namespaced: boolean
}

/** A pointer to an object, as Events carry it in `regarding` (core/v1: `involvedObject`). */
export interface ObjectRef {
  apiVersion?: string
  kind?: string
  namespace?: string
  name?: string
  uid?: string
  fieldPath?: string
}

/** A Kubernetes Event (core/v1 or events.k8s.io/v1) in one form. Times are RFC 3339. */
export interface KubeEvent {
  type: string
  reason: string
  message: string
  /** How often it happened: `series.count`, else `count`, else 1. */
  count: number
  regarding: ObjectRef
  /** First and last occurrence; new-style Events have only `eventTime` and `series.lastObservedTime`. */
  firstSeen?: string
  lastSeen?: string
  reportingComponent?: string
}

/** An Event as rules see it: fields may be read on first use, and are none of its own (`plainKubeEvent` copies them). */
export interface KubeEventView extends Readonly<Omit<KubeEvent, OptionalOfEvent>> {
  readonly firstSeen?: string | undefined
  readonly lastSeen?: string | undefined
  readonly reportingComponent?: string | undefined
}
type OptionalOfEvent = 'firstSeen' | 'lastSeen' | 'reportingComponent'

/**
 * A value of the object that changed. Paths are dots and keys: `spec.template.spec.containers[name=web].image`,
 * `metadata.labels["app.kubernetes.io/name"]`, `spec.rules[0].host`; at most 300 characters.
 */
export interface FieldChange {
  path: string
  /** JSON; undefined when it was not there. Long texts are shortened to 200 characters, what is secret is `***`. */
  old?: unknown
  new?: unknown
}

/** A step on the way to a changed value: a member's name, or what identifies an item of a list. */
export interface WayStep {
  /** Only for an item of a list: the member whose value is `key`; '' when `key` is the item's place. */
  label: string | undefined
  key: string
}

/** Everything about a change except the object itself: small, plain JSON; crosses the queue. */
export interface EventHeader {
  /** Deterministic: `<cluster uid>/<object uid>/<resourceVersion>/<type>`. */
  id: string
  type: ChangeType
  /** The cluster's name in the configuration. */
  cluster: string
  apiVersion: string
  kind: string
  /** The object's API path, such as `/apis/apps/v1/namespaces/shop/deployments/web`. */
  path: string
  namespace?: string
  name: string
  uid: string
  resourceVersion: string
  /** When kubeherald observed it, RFC 3339 with milliseconds. */
  time: string
  /** Time when a state that waited for limits such as `for` was emitted, RFC 3339. The object matched until then. */
  heldAt?: string
  /** True when no watch event said so, but a comparison of a new list with the index. */
  synthesized?: true
  /** The normalised Event, when the object is one. */
  event?: KubeEvent
  /** The changes of a MODIFIED, if the previous object is known; at most 40, the most informative first; [] for heartbeats only. */
  changes?: readonly FieldChange[]
  /** The top of the chain of controllers above the object, or above the one that an Event is about; where rules ask for it. */
  owner?: ObjectRef
  /** The field manager of the last write, by `time` in metadata.managedFields; see `managerToShow`. */
  manager?: string
  /** Related metadata that templates use. */
  related?: RelatedTexts
}

type Texts = Readonly<Record<string, string>>

/** Labels and annotations of the namespace, and of the object that an Event is about. */
export interface RelatedTexts {
  namespaceLabels?: Texts
  namespaceAnnotations?: Texts
  regardingLabels?: Texts
  regardingAnnotations?: Texts
}

/** Keys of each, such as those that templates name. */
export type RelatedKeys = Readonly<Record<keyof RelatedTexts, readonly string[]>>

/**
 * One change of one object, as rules see it. Getters parse on first use: an event that no rule
 * looks into costs no JSON parse.
 */
export interface ClusterEvent
  extends Readonly<
    Omit<
      EventHeader,
      'namespace' | 'heldAt' | 'synthesized' | 'event' | 'changes' | 'owner' | 'manager' | 'related'
    >
  > {
  /** Undefined for cluster-scoped objects. */
  readonly namespace: string | undefined
  readonly synthesized: boolean
  /** Read before the watch had caught up: it can have happened while nothing was read. */
  readonly isCatchUp?: boolean
  /** It is no event: the watch does not select the object any more. It ends what rules follow. */
  readonly deselected?: boolean
  /** The normalised Event, when the object is one. */
  readonly event: KubeEventView | undefined
  /** The changes of a MODIFIED; undefined if the previous object is unknown. Computed on first use. */
  readonly changes?: readonly FieldChange[] | undefined
  readonly resource: Resource
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  /** One annotation, without reading the others. */
  annotation?(key: string): string | undefined
  /** metadata.creationTimestamp; undefined when it is not known. */
  readonly created?: string | undefined
  /** The object without managedFields and last-applied-configuration; Secret values are hashed. */
  readonly object: Readonly<Record<string, unknown>>
  /** The same object as JSON bytes, ready to be embedded in a message. */
  readonly objectJson: Buffer
  /** The object before this change, where old objects are kept; undefined for an ADDED and where it is not known. */
  readonly oldObject?: Readonly<Record<string, unknown>> | undefined
  /** Controllers of the object, the nearest first; [] without. */
  readonly owners?: readonly ObjectRef[] | undefined
  /** Undefined where the namespace's labels are not known, and for cluster-scoped objects. */
  readonly namespaceLabels?: Readonly<Record<string, string>> | undefined
  /** Annotations of the namespace, only those that the configuration names; undefined where the namespace is not known. */
  readonly namespaceAnnotations?: Readonly<Record<string, string>> | undefined
  /** Labels of the object that an Event regards, if known. */
  readonly regardingLabels?: Readonly<Record<string, string>> | undefined
  /** Annotations of the object that an Event regards, only those that the configuration names; undefined if the object is not known. */
  readonly regardingAnnotations?: Readonly<Record<string, string>> | undefined
  readonly regardingOwners?: readonly ObjectRef[] | undefined
  /** The labels and annotations above whose keys occur in templates; undefined if there are none. */
  readonly related?: RelatedTexts | undefined
  /** Above the last of `owners`, of an Event of `regardingOwners`, is a controller that is not known (yet, or any more). */
  readonly lacksOwners?: boolean | undefined
  /** The field manager of the last write; undefined for Events and a DELETED. Read on first use. */
  readonly manager?: string | undefined
}

/** The plain header of an event, ready to be stored. */
export function headerOf(event: ClusterEvent): EventHeader {
  const { event: kubeEvent, changes } = event
  const manager = managerToShow(event)
  const owner = (kubeEvent ? event.regardingOwners : event.owners)?.at(-1)
  return {
    id: event.id,
    type: event.type,
    cluster: event.cluster,
    apiVersion: event.apiVersion,
    kind: event.kind,
    path: event.path,
    ...(event.namespace !== undefined && { namespace: event.namespace }),
    name: event.name,
    uid: event.uid,
    resourceVersion: event.resourceVersion,
    time: event.time,
    ...(event.synthesized && { synthesized: true as const }),
    ...(kubeEvent && { event: plainKubeEvent(kubeEvent) }),
    ...(changes && { changes }),
    ...(owner && { owner }),
    ...(manager && { manager }),
    ...(event.related && { related: event.related }),
  }
}

/** Kinds that come in masses and that programs write. */
const WRITTEN_BY_PROGRAMS = ['Pod', 'ReplicaSet', 'Node', 'Lease', 'Endpoints', 'EndpointSlice']

/** Returns the field manager of the last write, for kinds for which reading managedFields and storing it is worth the cost. */
export function managerToShow(event: ClusterEvent): string | undefined {
  return WRITTEN_BY_PROGRAMS.includes(event.kind) ? undefined : event.manager
}

export function plainKubeEvent(event: KubeEventView): KubeEvent {
  const { type, reason, message, count, regarding, firstSeen, lastSeen, reportingComponent } = event
  return {
    type,
    reason,
    message,
    count,
    regarding,
    ...(firstSeen && { firstSeen }),
    ...(lastSeen && { lastSeen }),
    ...(reportingComponent && { reportingComponent }),
  }
}

/** Metadata of an object from caches that watches feed, never requested live. */
export interface KnownObject {
  labels: Readonly<Record<string, string>>
  /** Only those that the configuration names. */
  annotations?: Readonly<Record<string, string>>
  /** Its controllers, the nearest first, up to the top. */
  owners: readonly ObjectRef[]
  /** As of `RelatedMetadata`, of the owners here. */
  lacksOwners?: boolean
}

/** The cluster around an event. */
export interface RelatedMetadata {
  /** Undefined when the namespace is not known. */
  namespaceLabels(namespace: string): Readonly<Record<string, string>> | undefined
  namespaceAnnotations?(namespace: string): Readonly<Record<string, string>> | undefined
  /** By uid, else by kind, namespace and name; undefined when it is not known. Remembers what was deleted a while ago. */
  object(ref: ObjectRef): KnownObject | undefined
  /** The controllers above these owner references. */
  ownersOf(references: readonly ObjectRef[], namespace: string): readonly ObjectRef[]
  /** True if the top of a chain of controllers is of a watched kind, but unknown: then it may have owners itself. */
  lacksOwners?(owners: readonly ObjectRef[], namespace: string): boolean
}

export const NO_SURROUNDINGS: RelatedMetadata = {
  namespaceLabels: () => undefined,
  object: () => undefined,
  ownersOf: (references) => references.slice(0, 1),
}
