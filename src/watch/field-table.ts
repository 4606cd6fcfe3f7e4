import { isKey, nextKey, readValue, skipKey, skipSpace, skipValue, valueAfter } from './json-bytes.ts'

/** Where fields stand in some bytes: for each its number in the table, its start and its end. */
export type Places = readonly number[]

const QUOTE = 34
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

/** Finds some fields of JSON objects by their bytes, whatever stands between them. */
export class FieldTable<Name extends string> {
  readonly #byLength: Field[][]
  readonly #numbers: ReadonlyMap<Name, number>

  constructor(names: readonly Name[]) {
    const longest = Math.max(...names.map(({ length }) => length))
    this.#byLength = Array.from({ length: longest + 1 }, () => [])
    this.#numbers = new Map(names.map((name, number) => [name, number]))
    for (const [name, number] of this.#numbers)
      this.#byLength[name.length]?.push({ bytes: Buffer.from(name), number })
  }

  /**
   * Walks the object that begins at `start`; of a field that is there twice the last one counts, as with JSON.parse.
   * `known` is the range of a value that needs no walking. Undefined for anything odd: then it must be parsed.
   */
  find(bytes: Buffer, start: number, known?: readonly [start: number, end: number]): Places | undefined {
    if (bytes[start] !== OPEN_BRACE) return undefined
    const places: number[] = []
    let at = skipSpace(bytes, start + 1)
    while (bytes[at] === QUOTE) {
      const keyEnd = skipKey(bytes, at)
      const value = valueAfter(bytes, keyEnd)
      if (value === -1) return undefined
      const end = value === known?.[0] ? known[1] : skipValue(bytes, value)
      if (end > bytes.length) return undefined
      const length = keyEnd - at - 2
      const fields = length < this.#byLength.length ? (this.#byLength[length] as Field[]) : NONE
      for (let i = 0; i < fields.length; i++) {
        const field = fields[i] as Field
        if (isKey(bytes, at, keyEnd, field.bytes)) places.push(field.number, value, end)
      }
      at = nextKey(bytes, end)
    }
    return bytes[at] === CLOSE_BRACE ? places : undefined
  }

  /** The value of a field in what `find` gave; undefined when it is not there. `scan` reads it if it can. */
  read(bytes: Buffer, places: Places, name: Name, scan?: (bytes: Buffer, start: number) => unknown): unknown {
    const number = this.#numbers.get(name)
    for (let i = places.length - 3; i >= 0; i -= 3) {
      if (places[i] !== number) continue
      const [start, end] = [places[i + 1] as number, places[i + 2] as number]
      return scan?.(bytes, start) ?? readValue(bytes, start, end)
    }
    return undefined
  }
}

interface Field {
  bytes: Buffer
  number: number
}

const NONE: Field[] = []
