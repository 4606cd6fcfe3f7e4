import {
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { idsIn, type Setup } from '../../../src/sink/testkit/index.ts'

/** A folder of its own; refused by a file that lies where the folder was. */
export const fileSetup: Setup = {
  start() {
    const root = mkdtempSync(join(tmpdir(), 'kubeherald-file-'))
    const [folder, away] = [join(root, 'logs'), join(root, 'away')]
    const path = join(folder, 'events.ndjson')
    let refused = false
    return {
      options: { path },
      received: () => (refused || !existsSync(path) ? [] : idsOfLines(readFileSync(path, 'utf8'))),
      faults: {
        refuse() {
          if (existsSync(folder)) renameSync(folder, away)
          writeFileSync(folder, '')
          refused = true
        },
        restore() {
          if (!refused) return
          rmSync(folder)
          if (existsSync(away)) renameSync(away, folder)
          refused = false
        },
      },
      forget: () => truncateSync(path),
      stop: () => rmSync(root, { recursive: true, force: true }),
    }
  },
}

/** The ids of lines: what an object says is none. */
export function idsOfLines(text: string): string[] {
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.flatMap((line) => idsIn((JSON.parse(line) as { id: string }).id))
}
