import type { Transition } from '../change.ts'
import type { Resource } from '../event.ts'
import { apiVersionOf } from './api-path.ts'
import { readLabels } from './labels.ts'
import { objectJsonOf } from './trim.ts'

/** The object of a transition as JSON that may leave: as it came, as it was kept, else what is known of it. */
export function transitionJson(resource: Resource, transition: Transition, salt: Buffer): Buffer {
  const { object, old, isTrimmed } = transition
  if (object && isTrimmed) return object.bytes
  if (object) return objectJsonOf(resource, object, salt)
  return old?.() ?? Buffer.from(JSON.stringify(tombstone(resource, transition)))
}

/** The object as it was before, as it was kept. Undefined when it cannot be read: an event goes on without it. */
export function keptObject({ old }: Transition): Readonly<Record<string, unknown>> | undefined {
  const json = old?.()
  try {
    return json && (JSON.parse(json.toString()) as Record<string, unknown>)
  } catch {
    return undefined
  }
}

/** What is left of an object whose deletion nobody saw. */
function tombstone(resource: Resource, transition: Transition): object {
  const { namespace, name, uid, resourceVersion, labelsJson } = transition
  const labels = readLabels(labelsJson)
  const metadata = { ...(namespace && { namespace }), name, uid, resourceVersion, labels }
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata }
}
