import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A directory that goes with its scope. */
export function folder(): { dir: string } & Disposable {
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-credentials-'))
  return { dir, [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) }
}
