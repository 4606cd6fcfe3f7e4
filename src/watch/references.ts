import type { ScannedObject } from '../change.ts'
import type { ObjectRef } from '../event.ts'
import { walkMembers } from './scan.ts'

/** The object that an Event is about, read from its bytes without parsing all of them; undefined when it names none. */
export function regardingIn({ bytes }: ScannedObject): ObjectRef | undefined {
  let json: string | undefined
  walkMembers(bytes, bytes.indexOf('{'), (key, value, end) => {
    if (key === 'involvedObject' || key === 'regarding') json = bytes.toString('utf8', value, end)
    return json !== undefined
  })
  return json === undefined ? undefined : readReference(json)
}

function readReference(json: string): ObjectRef | undefined {
  try {
    const ref = JSON.parse(json) as Record<string, unknown> | null
    const text = (key: string) => (typeof ref?.[key] === 'string' && ref[key] !== '' ? ref[key] : undefined)
    const [apiVersion, kind, namespace, name, uid] = ['apiVersion', 'kind', 'namespace', 'name', 'uid'].map(
      text,
    )
    if (kind === undefined || name === undefined) return undefined
    return {
      ...(apiVersion && { apiVersion }),
      kind,
      ...(namespace && { namespace }),
      name,
      ...(uid && { uid }),
    }
  } catch {
    return undefined
  }
}
