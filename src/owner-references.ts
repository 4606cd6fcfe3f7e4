import type { ScannedObject } from './change.ts'
import type { ObjectRef } from './event.ts'

/** The owners of an object, the controller first; [] without. Of a scanned one they are read from its bytes. */
export function ownerReferencesOf(object: ScannedObject | Readonly<Record<string, unknown>>): ObjectRef[] {
  if (!isScanned(object)) {
    const { metadata } = object as { metadata?: { ownerReferences?: unknown } }
    return controllerFirst(metadata?.ownerReferences)
  }
  const { bytes, ownerReferences } = object
  if (!ownerReferences) return []
  try {
    return controllerFirst(JSON.parse(bytes.toString('utf8', ...ownerReferences)))
  } catch {
    return []
  }
}

function isScanned(object: ScannedObject | Readonly<Record<string, unknown>>): object is ScannedObject {
  return Buffer.isBuffer(object['bytes'])
}

function controllerFirst(list: unknown): ObjectRef[] {
  const references = Array.isArray(list) ? list.filter(isReference) : []
  const at = references.findIndex(({ controller }) => controller === true)
  const sorted = at > 0 ? [references[at]!, ...references.toSpliced(at, 1)] : references
  return sorted.map(({ apiVersion, kind, name, uid }) => ({
    ...(typeof apiVersion === 'string' && { apiVersion }),
    kind,
    name,
    uid,
  }))
}

type Reference = { apiVersion?: unknown; controller?: unknown } & Record<'kind' | 'name' | 'uid', string>

function isReference(it: unknown): it is Reference {
  const { kind, name, uid } = (typeof it === 'object' && it !== null ? it : {}) as Record<string, unknown>
  return typeof kind === 'string' && typeof name === 'string' && typeof uid === 'string'
}
