import type { Source, Transition } from './change.ts'
import { type ClusterEvent, managerToTell, type ObjectRef } from './event.ts'
import type { KnownObject } from './surroundings.ts'

/** What happened to one object, before rules, as the journal keeps it. */
export interface JournalRecord extends Omit<Transition, 'object' | 'old'> {
  source: JournalSource
  /** The object (trimmed, Secret values hashed) as JSON; of a deletion that nobody saw what is known of it. */
  objectJson: Buffer
  around?: JournalSurroundings
}

/** What was known of its surroundings, as far as rules asked for it then. */
export interface JournalSurroundings {
  namespaceLabels?: Readonly<Record<string, string>>
  owners?: readonly ObjectRef[]
  /** Of an Event: the object that it is about. */
  regarding?: KnownObject
  /** Who wrote the object last. */
  manager?: string
}

/** What a record is made of besides its transition. */
export type JournalContents = Pick<JournalRecord, 'objectJson' | 'around'>

/** Reads them of an event. */
export function journalContents(event: ClusterEvent): JournalContents {
  const { objectJson, namespaceLabels, owners, regardingLabels, regardingOwners } = event
  const manager = managerToTell(event)
  const isRegarding = regardingLabels !== undefined || regardingOwners !== undefined
  const around: JournalSurroundings = {
    ...(namespaceLabels && { namespaceLabels }),
    ...(owners && { owners }),
    ...(isRegarding && { regarding: { labels: regardingLabels ?? {}, owners: regardingOwners ?? [] } }),
    ...(manager && { manager }),
  }
  return { objectJson, ...(Object.keys(around).length > 0 && { around }) }
}

/** What of a watch its events need. */
export type JournalSource = Pick<Source, 'key' | 'title' | 'resource' | 'clusterUid' | 'spelling' | 'custom'>

/** How much is kept. */
export interface JournalBounds {
  keepMs: number
  maxBytes: number
}
