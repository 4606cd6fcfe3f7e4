const FIRST = 4
const GROWTH = 4
/** What a page takes, about: a search for one object must not take the memory of the pipeline. */
export const PAGE_BYTES = 4 * 2 ** 20

/** How many entries a reader of stored deliveries asks for next: few where they are large. `most` bounds a page that is larger than the last. */
export class PageSize {
  readonly #most: number
  #count = FIRST

  constructor(most: number) {
    this.#most = most
  }

  get count(): number {
    return this.#count
  }

  /** Notes what the last page took. */
  note(entries: number, bytes: number): void {
    const fitting = Math.floor((PAGE_BYTES * entries) / Math.max(bytes, 1))
    this.#count = Math.max(1, Math.min(fitting, this.#count * GROWTH, this.#most))
  }
}
