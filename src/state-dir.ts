import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

/**
 * Where a process keeps what must survive it when it has no Redis of its own: `--state-dir`, else
 * `$XDG_STATE_HOME/kubeherald`, else `~/.local/state/kubeherald` (XDG Base Directory Specification).
 */
export function stateDir(option: string | undefined, env: NodeJS.ProcessEnv): string {
  if (option) return resolve(option)
  const base = env['XDG_STATE_HOME'] || join(homedir(), '.local', 'state')
  return join(base, 'kubeherald')
}
