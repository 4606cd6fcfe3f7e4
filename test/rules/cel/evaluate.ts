import type { ClusterEvent } from '../../../src/model/event.ts'
import { celPart } from '../../../src/rules/cel/part.ts'
import { clusterEvent, type EventParts } from '../events.ts'

export interface Given extends EventParts {
  object?: object
  old?: object
}

/** An event with an object that came as JSON. */
export function eventOf({ object = {}, old, ...parts }: Given = {}): ClusterEvent {
  const json = JSON.stringify(object)
  const event = clusterEvent(parts)
  const parsed = {
    object: JSON.parse(json) as Record<string, unknown>,
    objectJson: Buffer.from(json),
    ...(old && { oldObject: JSON.parse(JSON.stringify(old)) as Record<string, unknown> }),
  }
  return Object.create(event, Object.getOwnPropertyDescriptors(parsed)) as ClusterEvent
}

/** What an `if` says of an event. Throws what it throws; and where it has faults. */
export function evaluate(text: string, given: Given | ClusterEvent = {}): boolean {
  const part = celPart({ if: text })
  if (!part.ok) throw new Error(`faults: ${part.faults.map(({ message }) => message).join('; ')}`)
  const event = 'resourceVersion' in given ? given : eventOf(given)
  return part.value.conditions.every(({ test }) => test(event))
}
