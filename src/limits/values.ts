import type { ClusterEvent } from '../event.ts'
import type { Property } from './by.ts'

/** What limits count an event by; '' where there is none. */
export interface Value {
  /** Tells different ones apart. */
  key: string
  /** As people read it. */
  shown: string
}

/** What names an object. */
interface Named {
  kind?: string | undefined
  namespace?: string | undefined
  name?: string | undefined
}

export function readValue(property: Property, event: ClusterEvent): Value {
  switch (property.word) {
    case 'labels':
      return text(at(event.labels, property.key))
    case 'annotations':
      return text(at(event.annotations, property.key))
    case 'namespaceLabels':
      return text(at(event.namespaceLabels, property.key))
    case 'regarding.labels':
      return text(at(event.event ? event.regardingLabels : event.labels, property.key))
    case 'rule':
      return text('')
    case 'object':
      return { key: event.uid, shown: `${event.kind}/${event.name}` }
    case 'namespace':
      return text(event.namespace)
    case 'name':
      return text(event.name)
    case 'kind':
      return text(event.kind)
    case 'reason':
      return text(event.event?.reason)
    case 'message':
      return text(event.event?.message)
    case 'regarding':
      return named(subjectOf(event))
    case 'owner':
    case 'regarding.owner':
      return named(ownerOf(event))
    case 'node':
      return text(nodeOf(event))
  }
}

/** What the event is about: the object that an Event regards, else the object itself. */
function subjectOf(event: ClusterEvent): Named {
  return event.event?.regarding ?? event
}

/** The top of the chain of controllers; what stands alone is its own. */
function ownerOf(event: ClusterEvent): Named {
  const subject = subjectOf(event)
  const top = (event.event ? event.regardingOwners : event.owners)?.at(-1)
  return top ? { ...top, namespace: top.namespace ?? subject.namespace ?? '' } : subject
}

function nodeOf(event: ClusterEvent): unknown {
  const regarding = event.event?.regarding
  if (regarding) {
    const { source, deprecatedSource } = event.object
    return (
      at(source, 'host') || at(deprecatedSource, 'host') || (regarding.kind === 'Node' ? regarding.name : '')
    )
  }
  return event.kind === 'Node' ? event.name : at(event.object['spec'], 'nodeName')
}

/** By its name, so that one that is made anew counts as the same. */
function named({ kind = '', namespace = '', name = '' }: Named): Value {
  return { key: JSON.stringify([kind, namespace, name]), shown: kind === '' ? name : `${kind}/${name}` }
}

function text(value: unknown): Value {
  const it = typeof value === 'string' ? value : ''
  return { key: it, shown: it }
}

/** A label may be called `constructor`. */
function at(map: unknown, key: string): unknown {
  return typeof map === 'object' && map !== null && Object.hasOwn(map, key)
    ? (map as Record<string, unknown>)[key]
    : undefined
}
