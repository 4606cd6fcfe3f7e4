import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'

const EVERY_MS = 2_000

/**
 * Notices when the content of files changes, however it is exchanged: rewritten, renamed over, or by the symbolic links of a
 * Kubernetes volume. A file that is gone for a moment is no change. A change that could
 * not be used (`false`, or thrown) is told again until it can: another file may have been half written.
 */
export function watchFiles(
  files: readonly string[],
  onChange: () => Promise<boolean>,
  everyMs = EVERY_MS,
): { close(): void } {
  const known = new Map<string, string>()
  let busy = false
  let changed = false

  async function look(): Promise<void> {
    for (const file of files) {
      const digest = await digestOf(file)
      const before = known.get(file)
      if (digest === undefined || digest === before) continue
      known.set(file, digest)
      changed ||= before !== undefined
    }
    if (changed) changed = !(await onChange().catch(() => false))
  }

  const tick = () => {
    if (busy) return
    busy = true
    void look().finally(() => {
      busy = false
    })
  }
  if (files.length === 0) return { close() {} }
  tick()
  const timer = setInterval(tick, everyMs)
  return { close: () => clearInterval(timer) }
}

async function digestOf(file: string): Promise<string | undefined> {
  try {
    return createHash('sha256')
      .update(await readFile(file))
      .digest('hex')
  } catch {
    return undefined
  }
}
