import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'

/** Files with what they held when they were read. */
export class FileReads {
  /** Undefined: it could not be read. */
  readonly #digests = new Map<string, string | undefined>()

  /** Reads a file and notes what it held; throws when it cannot be read. */
  read(path: string): Buffer {
    this.#digests.set(path, undefined)
    const bytes = readFileSync(path)
    this.#digests.set(path, digestOf(bytes))
    return bytes
  }

  /** What of them is otherwise now: equal texts mean equal states. Undefined when all are as they were read. */
  async changed(): Promise<string | undefined> {
    const now = await Promise.all(
      [...this.#digests].map(async ([path, before]) => {
        const digest = await readFile(path).then(digestOf, () => undefined)
        return digest === before ? [] : [`${path} ${digest}`]
      }),
    )
    const different = now.flat()
    return different.length === 0 ? undefined : different.join('\n')
  }
}

export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
