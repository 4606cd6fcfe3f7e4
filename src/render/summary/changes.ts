import type { FieldChange } from '../../event.ts'
import { at, list, scalar } from './read.ts'
import type { Told } from './told.ts'
import { clause, listed, oneLine } from './wording.ts'

/** The changes, where there are some. */
export function changesOf({ event }: Told): readonly FieldChange[] {
  return Array.isArray(event.changes) ? event.changes.filter((it) => typeof it?.path === 'string') : []
}

/** Are old values known? Then what is not among the changes did not change. */
export function isKnown({ event }: Told): boolean {
  return Array.isArray(event.changes)
}

/** Did anything change at a path or below it? */
export function changedBelow(told: Told, path: string): boolean {
  return changesOf(told).some(
    (it) => it.path.startsWith(path) && /^(?:$|[.[])/.test(it.path.slice(path.length)),
  )
}

/** Old and new value at a path, also when a larger part that holds it changed. */
export function changeAt(told: Told, path: string): { old: unknown; new: unknown } | undefined {
  for (const change of changesOf(told)) {
    if (change.path === path) return { old: change.old, new: change.new }
    if (!path.startsWith(change.path) || !/^[.[]/.test(path.slice(change.path.length))) continue
    const rest = path.slice(change.path.length)
    const found = { old: descend(change.old, rest), new: descend(change.new, rest) }
    if (JSON.stringify(found.old) !== JSON.stringify(found.new)) return found
  }
  return undefined
}

export function arrow({ old, new: now }: { old?: unknown; new?: unknown }): string {
  return `${brief(old)} → ${brief(now)}`
}

const STEP = /\.([^.[\]]+)|\[([^\]=]+)=([^\]]*)\]|\[(\d+)\]/gy

function descend(value: unknown, path: string): unknown {
  let found = value
  for (const [, key, field, wanted, index] of path.matchAll(STEP)) {
    if (key !== undefined) found = at(found, key)
    else if (index !== undefined) found = at(found, Number(index))
    else found = list(found).find((it) => scalar(it, field!) === wanted)
  }
  return found
}

/** The keys of a map that changed. Keys may have dots, and be written `data.a.b`, `data[a.b]` or `data["a.b"]`. */
export function keysChanged(
  told: Told,
  map: string,
): { added: string[]; changed: string[]; removed: string[] } {
  const keys = { added: [] as string[], changed: [] as string[], removed: [] as string[] }
  const put = (key: string, { old, new: now }: { old?: unknown; new?: unknown }) =>
    keys[old === undefined ? 'added' : now === undefined ? 'removed' : 'changed'].push(key)
  for (const change of changesOf(told)) {
    if (change.path === map) {
      for (const key of new Set([...keysOf(change.old), ...keysOf(change.new)])) {
        const one = { old: at(change.old, key), new: at(change.new, key) }
        if (one.old !== one.new) put(key, one)
      }
    } else if (change.path.startsWith(`${map}.`) || change.path.startsWith(`${map}[`)) {
      put(keyIn(change.path.slice(map.length)), change)
    }
  }
  return keys
}

function keyIn(rest: string): string {
  return rest.replace(/^\["?(.*?)"?\]$/, '$1').replace(/^\./, '')
}

function keysOf(value: unknown): string[] {
  return typeof value === 'object' && value !== null ? Object.keys(value).slice(0, 200) : []
}

/** They change with everything else, and tell nothing. */
const NOISE =
  /^metadata\.(?:generation|resourceVersion|managedFields)\b|^status\.observedGeneration$|\.(?:lastHeartbeatTime|lastTransitionTime|lastUpdateTime|lastProbeTime|observedGeneration)$|deployment\.kubernetes\.io\/revision/

export function isNoise({ path }: FieldChange): boolean {
  return NOISE.test(path)
}

/** What somebody wanted: all but the status and what servers write. */
export function wantedOf(told: Told): readonly FieldChange[] {
  return changesOf(told).filter((it) => !isNoise(it) && !inStatus(it))
}

export function inStatus({ path }: FieldChange): boolean {
  return /^status(?:$|[.[])/.test(path)
}

/** `spec.size 1 → 3, spec.tier gold → silver and 2 more`. */
export function changesListed(changes: readonly FieldChange[], most = 3): string {
  return listed(
    changes.map((it) => (isTelling(it) ? `${shortPath(it.path)} ${arrow(it)}` : shortPath(it.path))),
    most,
  )
}

/** Not what environment variables are set to, which may be secret, and not what has no short value. */
function isTelling({ path, old, new: now }: FieldChange): boolean {
  return !/\benv\[/.test(path) && ![old, now].some((it) => typeof it === 'object' && it !== null)
}

function shortPath(path: string): string {
  const plain = path
    .replace(/^spec\.template\.spec\.|^metadata\.(?=labels|annotations)/, '')
    .replace(/^(?:initC|c)ontainers\[name=([^\]]*)\]\./, '$1: ')
    .replace(/\benv\[name=([^\][]*)\](?:\.value)?$/, 'env $1')
  return oneLine(plain, 80)
}

function brief(value: unknown): string {
  if (value === undefined || value === null || value === '') return 'none'
  if (typeof value === 'string') return clause(value, 40) || '…'
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '…'
}
