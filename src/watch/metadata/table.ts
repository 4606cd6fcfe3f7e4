import type { Resource } from '../../model/event.ts'

/** What is remembered of one object; as small as can be, for there are many. */
export interface Remembered {
  uid: string
  /** JSON of its labels; undefined without. */
  labels: SharedText | undefined
  /** JSON of those annotations that the configuration names; undefined without. */
  annotations: SharedText | undefined
  /** JSON of the reference to its controller; undefined without. */
  owner: SharedText | undefined
  /** Which watch delivered it, and in which of its lists it was last. */
  part: Part
  seen: number
  /** 0 while it is there. */
  deletedMs: number
}

/** The objects of a table that one watch covers. */
export interface Part {
  namespace: string
  /** Counts its lists. */
  list: number
}

interface Noted {
  uid: string
  labelsJson: string
  annotationsJson: string
  /** '' without. */
  ownerJson: string
}

/** The objects of one resource, by `namespace/name`; of one name also those that had it before, by uid. */
export class Table {
  readonly resource: Resource
  readonly #texts: SharedTexts
  readonly #objects = new Map<string, Remembered>()
  /** Oldest first. */
  readonly #deleted = new Map<string, { key: string; object: Remembered }>()
  /** `namespace/name` → the uid that had it last. */
  readonly #lastUids = new Map<string, string>()

  constructor(resource: Resource, texts: SharedTexts) {
    this.resource = resource
    this.#texts = texts
  }

  /** Without those that are deleted. */
  get size(): number {
    return this.#objects.size
  }

  get deletedSize(): number {
    return this.#deleted.size
  }

  /** The object with this uid, else the one that has the name, or had it last; none that was deleted before a time. */
  find(key: string, uid: string | undefined, deletedSinceMs: number): Remembered | undefined {
    const named = this.#objects.get(key)
    if (named && (uid === undefined || named.uid === uid)) return named
    const deleted = this.#deletedSince(key, uid, deletedSinceMs)
    return deleted ?? named ?? this.#deletedSince(key, this.#lastUids.get(key), deletedSinceMs)
  }

  /** Returns whether the object is new or different. */
  put(key: string, noted: Noted, part: Part, nowMs: number): boolean {
    const known = this.#objects.get(key)
    if (known && known.uid !== noted.uid) this.#markDeleted(key, known, nowMs)
    const { labelsJson, annotationsJson, ownerJson } = noted
    const same = known?.uid === noted.uid ? known : undefined
    if (same) {
      same.seen = part.list
      same.part = part
      const isSame =
        (same.labels?.text ?? '{}') === labelsJson &&
        (same.annotations?.text ?? '{}') === annotationsJson &&
        (same.owner?.text ?? '') === ownerJson
      if (isSame) return false
      this.#release(same)
    } else this.#forget(noted.uid)
    const labels = labelsJson === '{}' ? undefined : this.#texts.take(labelsJson)
    const annotations = annotationsJson === '{}' ? undefined : this.#texts.take(annotationsJson)
    const owner = ownerJson === '' ? undefined : this.#texts.take(ownerJson)
    if (same) {
      same.labels = labels
      same.annotations = annotations
      same.owner = owner
    } else {
      const { uid } = noted
      this.#objects.set(key, { uid, labels, annotations, owner, part, seen: part.list, deletedMs: 0 })
    }
    return true
  }

  delete(key: string, uid: string, nowMs: number): void {
    const known = this.#objects.get(key)
    if (known?.uid === uid) this.#markDeleted(key, known, nowMs)
  }

  /** Makes an object unknown: what was noted of it, and of former objects of its name, is not found by the name. */
  exclude(key: string, uid: string, nowMs: number): void {
    const known = this.#objects.get(key)
    if (known?.uid === uid) this.#remove(key, known)
    else if (known) this.#markDeleted(key, known, nowMs)
    this.#lastUids.delete(key)
  }

  /** Deletes what was not in the last list of a part; returns how many. */
  sweep(part: Part, nowMs: number): number {
    let deleted = 0
    for (const [key, object] of this.#objects) {
      if (object.part !== part || object.seen === part.list) continue
      this.#markDeleted(key, object, nowMs)
      deleted++
    }
    return deleted
  }

  /** A part is not watched any more. */
  drop(part: Part): void {
    for (const [key, object] of this.#objects) {
      if (object.part !== part) continue
      this.#objects.delete(key)
      this.#release(object)
    }
  }

  /** Forgets what was deleted before. */
  forgetDeletedBefore(ms: number): void {
    for (const [uid, { object }] of this.#deleted) {
      if (object.deletedMs >= ms) return
      this.#forget(uid)
    }
  }

  /** Makes room: what was deleted first, then what was noted first. */
  evict(): void {
    const [uid] = this.#deleted.keys()
    if (uid !== undefined) return this.#forget(uid)
    const [first] = this.#objects
    if (!first) return
    this.#objects.delete(first[0])
    this.#release(first[1])
  }

  /** The length of the longest texts of an object, what was deleted included. */
  get longest(): number {
    let longest = 0
    for (const [, object] of this.#all()) longest = Math.max(longest, lengthOf(object))
    return longest
  }

  /**
   * Makes the objects with texts of such a length unknown, until all texts are no longer than `enough`. Returns the keys of those
   * that were not deleted.
   */
  evictLong(length: number, enough: number): string[] {
    const evicted: string[] = []
    for (const [key, object] of this.#all()) {
      if (this.#texts.length <= enough) break
      if (lengthOf(object) < length) continue
      if (object.deletedMs > 0) this.#forget(object.uid)
      else {
        this.#remove(key, object)
        evicted.push(key)
      }
    }
    return evicted
  }

  /** What was deleted first. */
  *#all(): Generator<[key: string, object: Remembered]> {
    for (const { key, object } of this.#deleted.values()) yield [key, object]
    yield* this.#objects
  }

  /** Who knows a uid alone learns nothing of an object in another namespace. */
  #deletedSince(key: string, uid: string | undefined, ms: number): Remembered | undefined {
    const deleted = uid === undefined ? undefined : this.#deleted.get(uid)
    return deleted?.key === key && deleted.object.deletedMs >= ms ? deleted.object : undefined
  }

  /** A former object of this name does not stand for it. */
  #remove(key: string, object: Remembered): void {
    this.#objects.delete(key)
    this.#lastUids.delete(key)
    this.#release(object)
  }

  #markDeleted(key: string, object: Remembered, nowMs: number): void {
    this.#objects.delete(key)
    object.deletedMs = nowMs
    this.#deleted.set(object.uid, { key, object })
    this.#lastUids.set(key, object.uid)
  }

  #forget(uid: string): void {
    const it = this.#deleted.get(uid)
    if (!it) return
    this.#deleted.delete(uid)
    if (this.#lastUids.get(it.key) === uid) this.#lastUids.delete(it.key)
    this.#release(it.object)
  }

  #release({ labels, annotations, owner }: Remembered): void {
    if (labels) this.#texts.release(labels)
    if (annotations) this.#texts.release(annotations)
    if (owner) this.#texts.release(owner)
  }
}

/** Characters of the texts of an object; those that have one in common share its length. */
function lengthOf({ labels, annotations, owner }: Remembered): number {
  const length = (shared: SharedText | undefined) => (shared ? shared.text.length / shared.uses : 0)
  return length(labels) + length(annotations) + length(owner)
}

/** A text that many objects have: pods of one workload have the same labels, but for few. */
interface SharedText {
  readonly text: string
  uses: number
}

/** Keeps each text once, as long as somebody uses it. */
export class SharedTexts {
  readonly #texts = new Map<string, SharedText>()
  #length = 0

  /** Length of all texts together, in characters. */
  get length(): number {
    return this.#length
  }

  take(text: string): SharedText {
    const known = this.#texts.get(text)
    if (known) {
      known.uses++
      return known
    }
    const fresh = { text, uses: 1 }
    this.#texts.set(text, fresh)
    this.#length += text.length
    return fresh
  }

  release(shared: SharedText): void {
    if (--shared.uses > 0) return
    this.#texts.delete(shared.text)
    this.#length -= shared.text.length
  }
}

/** Longer ones are not worth it; and all of them together. What is made of short labels takes nine times their length. */
const MOST_REMEMBERED = 2_000
const MOST_LENGTH = 500_000

/** Remembers what was made of the texts that were asked for last. */
export function rememberLast<T>(make: (text: string) => T): (text: string) => T {
  const made = new Map<string, T>()
  let length = 0
  return (text) => {
    const known = made.get(text)
    if (known !== undefined) return known
    const fresh = make(text)
    if (text.length > MOST_REMEMBERED) return fresh
    made.set(text, fresh)
    length += text.length
    for (const oldest of made.keys()) {
      if (length <= MOST_LENGTH) break
      made.delete(oldest)
      length -= oldest.length
    }
    return fresh
  }
}
