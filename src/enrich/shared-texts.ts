/** A text that many objects have: pods of one workload have the same labels, but for few. */
export interface SharedText {
  readonly text: string
  uses: number
}

/** Keeps each text once, as long as somebody uses it. */
export class SharedTexts {
  readonly #texts = new Map<string, SharedText>()
  #length = 0

  /** Of all texts together, in characters. */
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

/** Longer ones are not worth it. */
const MOST_REMEMBERED = 8_000

/** Remembers what was made of the texts that were asked for last. */
export function rememberLast<T>(make: (text: string) => T, most: number): (text: string) => T {
  const made = new Map<string, T>()
  return (text) => {
    const known = made.get(text)
    if (known !== undefined) return known
    const fresh = make(text)
    if (text.length > MOST_REMEMBERED) return fresh
    if (made.size >= most) made.delete(made.keys().next().value as string)
    made.set(text, fresh)
    return fresh
  }
}
