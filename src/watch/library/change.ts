import { apiVersionOf } from '../client/discovery.ts'
import { parseObject } from '../decode/json-bytes.ts'
import type { Handed } from './source-state.ts'
import type { Change } from './types.ts'

/** Returns the change as the program gets it. `onUnreadable` is called if the JSON of the object cannot be parsed. */
export function changeOf<T>(
  { source: { resource, title }, transition, old }: Handed,
  onUnreadable: (watch: string, name: string) => void,
): Change<T> {
  const { type, uid, resourceVersion, namespace, name, synthesized, object } = transition
  const apiVersion = apiVersionOf(resource)
  const { kind } = resource
  const last = object?.bytes ?? old
  const parsed = last && parseObject(last)
  if (last && !parsed) onUnreadable(title, name)
  const place = namespace === '' ? {} : { namespace }
  const identity = { apiVersion, kind, metadata: { name, ...place, uid, resourceVersion } }
  const former = type === 'MODIFIED' && old ? parseObject(old) : undefined
  return {
    type,
    kind,
    apiVersion,
    namespace,
    name,
    uid,
    resourceVersion,
    object: (parsed ?? identity) as T,
    ...(former && { old: former as T }),
    synthesized,
  }
}
