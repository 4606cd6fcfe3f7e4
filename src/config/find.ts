import { existsSync } from 'node:fs'
import { resolve } from 'node:path'

/** Which file is meant: `--config`, else `$KUBEHERALD_CONFIG`, else `kubeherald.yaml` here; undefined when there is none. */
export function findConfig(option: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  const named = option ?? env['KUBEHERALD_CONFIG']
  if (named) return named
  return existsSync(resolve('kubeherald.yaml')) ? 'kubeherald.yaml' : undefined
}
