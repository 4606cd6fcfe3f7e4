import { spawnSync } from 'node:child_process'

/** Why pods cannot be started here; undefined where they can. */
export function missingForPods(): string | undefined {
  if (process.platform !== 'linux') return 'Linux'
  if (process.getuid?.() !== 0) return 'root, who may make mount namespaces,'
  const { status } = spawnSync('unshare', ['--mount', 'true'])
  return status === 0 ? undefined : 'right to make mount namespaces'
}
