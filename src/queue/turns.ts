/** Whose turn is next: first those that had none yet, by when they came, then the others, by when they had their last one. */
export class Turns {
  readonly #fresh = new Set<string>()
  readonly #served = new Set<string>()

  /** Takes up those that are new, and forgets all others. */
  keep(names: Iterable<string>): void {
    const kept = new Set(names)
    for (const them of [this.#fresh, this.#served])
      for (const name of them) if (!kept.has(name)) them.delete(name)
    for (const name of kept) if (!this.#served.has(name)) this.#fresh.add(name)
  }

  inOrder(): string[] {
    return [...this.#fresh, ...this.#served]
  }

  /** It had its turn. */
  served(name: string): void {
    this.#fresh.delete(name)
    this.#served.delete(name)
    this.#served.add(name)
  }
}
