import type { Source, Transition } from './change.ts'
import { type ClusterEvent, type KnownObject, managerToShow, type ObjectRef } from './event.ts'

/** A record of the journal: one change, as it was before rules were evaluated. */
export interface JournalRecord extends Omit<Transition, 'object' | 'old'> {
  source: JournalSource
  /** The object (trimmed, Secret values hashed) as JSON; of a deletion that nobody saw what is known of it. */
  objectJson: Buffer
  around?: JournalSurroundings
}

/** The related metadata that rules of that time used. */
export interface JournalSurroundings {
  namespaceLabels?: Readonly<Record<string, string>>
  namespaceAnnotations?: Readonly<Record<string, string>>
  owners?: readonly ObjectRef[]
  /** For an Event: the regarded object. */
  regarding?: KnownObject
  /** The field manager of the last write. */
  manager?: string
}

/** The parts of a record besides the transition. */
export type JournalContents = Pick<JournalRecord, 'objectJson' | 'around'>

/** Reads them of an event. */
export function journalContents(event: ClusterEvent): JournalContents {
  const { objectJson, namespaceLabels, namespaceAnnotations: annotations, owners } = event
  const { regardingLabels, regardingAnnotations, regardingOwners } = event
  const manager = managerToShow(event)
  const isRegarding = regardingLabels !== undefined || regardingOwners !== undefined
  const regarding = {
    labels: regardingLabels ?? {},
    ...(hasKeys(regardingAnnotations) && { annotations: regardingAnnotations }),
    owners: regardingOwners ?? [],
  }
  const around: JournalSurroundings = {
    ...(namespaceLabels && { namespaceLabels }),
    ...(owners && { owners }),
    ...(hasKeys(annotations) && { namespaceAnnotations: annotations }),
    ...(isRegarding && { regarding }),
    ...(manager && { manager }),
  }
  return { objectJson, ...(Object.keys(around).length > 0 && { around }) }
}

function hasKeys<T extends object>(map: T | undefined): map is T {
  return map !== undefined && Object.keys(map).length > 0
}

/** The fields of a source that its events need. */
export type JournalSource = Pick<Source, 'key' | 'title' | 'resource' | 'clusterUid' | 'spelling' | 'custom'>

/** How much is kept. */
export interface JournalBounds {
  keepMs: number
  maxBytes: number
}
