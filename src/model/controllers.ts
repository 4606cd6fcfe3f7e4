import type { ScannedObject } from './change.ts'
import type { ObjectRef } from './event.ts'

/** The controller of an object, of which there is at most one; of a scanned object it is read from its bytes. */
export function controllersOf(object: ScannedObject | Readonly<Record<string, unknown>>): ObjectRef[] {
  if (!isScanned(object)) {
    const { metadata } = object as { metadata?: { ownerReferences?: unknown } }
    return controllers(metadata?.ownerReferences)
  }
  const { bytes, ownerReferences } = object
  if (!ownerReferences) return []
  try {
    return controllers(JSON.parse(bytes.toString('utf8', ...ownerReferences)))
  } catch {
    return []
  }
}

function isScanned(object: ScannedObject | Readonly<Record<string, unknown>>): object is ScannedObject {
  return Buffer.isBuffer(object['bytes'])
}

function controllers(list: unknown): ObjectRef[] {
  const references = Array.isArray(list) ? list.filter(isController) : []
  return references.map(({ apiVersion, kind, name, uid }) => ({
    ...(typeof apiVersion === 'string' && { apiVersion }),
    kind,
    name,
    uid,
  }))
}

type Reference = { apiVersion?: unknown } & Record<'kind' | 'name' | 'uid', string>

function isController(it: unknown): it is Reference {
  const { kind, name, uid, controller } = (typeof it === 'object' && it !== null ? it : {}) as Record<
    string,
    unknown
  >
  return (
    controller === true && typeof kind === 'string' && typeof name === 'string' && typeof uid === 'string'
  )
}
