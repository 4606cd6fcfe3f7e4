import type { FieldChange } from '../../model/event.ts'
import { clause, listed, oneLine } from './phrasing.ts'
import { at, isRecent, list, type SummaryInput, scalar, text } from './summarizer.ts'

/** The changes, where there are some. */
export function changesOf({ event }: SummaryInput): readonly FieldChange[] {
  return Array.isArray(event.changes) ? event.changes.filter((it) => typeof it?.path === 'string') : []
}

/** Returns whether previous values are known. If so, a path that is not among the changes did not change. */
export function isKnown({ event }: SummaryInput): boolean {
  return Array.isArray(event.changes)
}

/** Returns true if anything changed at a path or below it. */
export function changedBelow(input: SummaryInput, path: string): boolean {
  return changesOf(input).some(
    (it) => it.path.startsWith(path) && /^(?:$|[.[])/.test(it.path.slice(path.length)),
  )
}

/** Old and new value at a path, also when a larger part that holds it changed. */
export function changeAt(input: SummaryInput, path: string): { old: unknown; new: unknown } | undefined {
  for (const change of changesOf(input)) {
    if (change.path === path) return { old: change.old, new: change.new }
    if (!path.startsWith(change.path) || !/^[.[]/.test(path.slice(change.path.length))) continue
    const rest = path.slice(change.path.length)
    const found = { old: descend(change.old, rest), new: descend(change.new, rest) }
    if (JSON.stringify(found.old) !== JSON.stringify(found.new)) return found
  }
  return undefined
}

/** Returns whether the object still has the new value of a change. */
export function isCurrent(object: SummaryInput['object'], { path, new: now }: FieldChange): boolean {
  return JSON.stringify(descend(object, `.${path}`)) === JSON.stringify(now)
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
  input: SummaryInput,
  map: string,
): { added: string[]; changed: string[]; removed: string[] } {
  const keys = { added: [] as string[], changed: [] as string[], removed: [] as string[] }
  const put = (key: string, { old, new: now }: { old?: unknown; new?: unknown }) =>
    keys[old === undefined ? 'added' : now === undefined ? 'removed' : 'changed'].push(key)
  for (const change of changesOf(input)) {
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

/** Paths that change with every write and carry no information. */
const NOISE =
  /^metadata\.(?:generation|resourceVersion|managedFields)\b|^status\.observedGeneration$|\.(?:lastHeartbeatTime|lastTransitionTime|lastUpdateTime|lastProbeTime|observedGeneration)$|deployment\.kubernetes\.io\/revision/

export function isNoise({ path }: FieldChange): boolean {
  return NOISE.test(path)
}

/** Returns changes of the desired state: all but the status and fields that servers write. */
export function wantedOf(input: SummaryInput): readonly FieldChange[] {
  return changesOf(input).filter((it) => !isNoise(it) && !inStatus(it))
}

export function inStatus({ path }: FieldChange): boolean {
  return /^status(?:$|[.[])/.test(path)
}

/** `spec.size 1 → 3, spec.tier gold → silver and 2 more`. */
export function changesListed(changes: readonly FieldChange[], most = 3): string {
  return listed(
    changes.map((it) => (isReadable(it) ? `${shortPath(it.path)} ${arrow(it)}` : shortPath(it.path))),
    most,
  )
}

/** Omits values of environment variables, which may be secret, and values without a short form. */
function isReadable({ path, old, new: now }: FieldChange): boolean {
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

export interface Condition {
  readonly type: string
  /** True, False or Unknown. */
  readonly status: string
  readonly reason: string
  readonly message: string
  /** RFC 3339; '' when it is not known. */
  readonly since: string
  /** RFC 3339; only Deployments have it. */
  readonly updated: string
}

export function conditionsOf({ object }: SummaryInput): readonly Condition[] {
  return list(object, 'status', 'conditions').map((it) => ({
    type: text(it, 'type'),
    status: text(it, 'status'),
    reason: text(it, 'reason'),
    message: text(it, 'message'),
    since: text(it, 'lastTransitionTime'),
    updated: text(it, 'lastUpdateTime'),
  }))
}

export function conditionOf(input: SummaryInput, type: string): Condition | undefined {
  return conditionsOf(input).find((it) => it.type === type)
}

/**
 * Returns whether a condition has just changed: by the changes if they are known, else by its time. `old` is the
 * previous status: '' if unknown, `absent` if there was no such condition.
 */
export function flipOf(input: SummaryInput, type: string): { old: string } | undefined {
  const condition = conditionOf(input, type)
  if (!condition) return undefined
  if (!isKnown(input)) return isRecent(input, condition.since) ? { old: '' } : undefined
  const path = `status.conditions[type=${type}]`
  if (changesOf(input).some((it) => it.path === path && it.old === undefined)) return { old: 'absent' }
  const old = scalar(changeAt(input, `${path}.status`)?.old)
  return old !== '' && old !== condition.status ? { old } : undefined
}

/** Returns true if the condition was there before, and is gone. */
export function isGone(input: SummaryInput, type: string): boolean {
  const path = `status.conditions[type=${type}]`
  return changesOf(input).some((it) => it.path === path && it.new === undefined)
}

/** `nginx:1 → nginx:2`, for each image below a pod template that was replaced. Not for containers that came or went. */
export function imagesReplaced(input: SummaryInput, template: string): string[] {
  const arrows = [...pathsOfImages(input, template)].flatMap((path) => {
    const { old, new: now } = changeAt(input, path) ?? {}
    return typeof old === 'string' && typeof now === 'string' ? [replaced(old, now)] : []
  })
  return [...new Set(arrows)]
}

/** Returns the paths of the images that changed by themselves, and of all containers, for when a whole list of them changed. */
function pathsOfImages(input: SummaryInput, template: string): Set<string> {
  const changed = changesOf(input)
    .map(({ path }) => path)
    .filter((path) => path.startsWith(`${template}.spec.`) && IMAGE.test(path))
  const pod = at(input.object, ...template.split('.'), 'spec')
  const known = ['containers', 'initContainers'].flatMap((part) =>
    list(pod, part).map((it) => `${template}.spec.${part}[name=${text(it, 'name')}].image`),
  )
  return new Set([...changed, ...known])
}

const IMAGE = /\.(?:initC|c)ontainers\[[^\]]*\]\.image$/

function replaced(old: string, now: string): string {
  const same = repositoryOf(old) === repositoryOf(now)
  return same ? `${shortImage(old)} → ${shortImage(now)}` : `${clip(old)} → ${clip(now)}`
}

function repositoryOf(image: string): string {
  return image.replace(/@.*$/, '').replace(/:[^/:]*$/, '')
}

/** Without registry and folders, and with the beginning of a digest: `web:1.4@sha256:0f3a9c21`. */
function shortImage(image: string): string {
  return clip(image.slice(image.replace(/@.*$/, '').lastIndexOf('/') + 1))
}

function clip(image: string): string {
  return oneLine(image.replace(/(@sha256:[0-9a-f]{8})[0-9a-f]+/, '$1'), 90)
}

/** The images of a pod template's containers. */
export function imagesIn(template: unknown): string {
  const images = list(template, 'spec', 'containers')
    .map((it) => text(it, 'image'))
    .filter((it) => it !== '')
  return listed(images, 3)
}
