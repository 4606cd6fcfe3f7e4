import { type ChildProcessByStdio, type SpawnOptions, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import type { KubeConfig } from '@kubernetes/client-node/dist/config.js'
import type { User } from '@kubernetes/client-node/dist/config_types.js'
import { cutText, redactSecrets } from '../../text/redact.ts'

/** Longer than a person needs to sign in in a browser. */
const MAX_RUN_MS = 180_000
const MAX_REASON = 500

/**
 * Starts an exec plug-in of a kubeconfig without input: where it asks for some, it fails instead of waiting. It is killed after
 * `maxRunMs`; its output then ends, too, also if a process that it started keeps it open.
 */
export function startPlugin(
  command: string,
  args: readonly string[] | undefined,
  options: SpawnOptions,
  maxRunMs = MAX_RUN_MS,
): ChildProcessByStdio<null, Readable, Readable> {
  const plugin = spawn(command, args ?? [], { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const timer = setTimeout(() => {
    plugin.kill('SIGKILL')
    plugin.stdout.destroy()
    plugin.stderr.destroy()
  }, maxRunMs)
  plugin.once('close', () => clearTimeout(timer))
  return plugin
}

/** client-node starts exec plug-ins with an input that never ends, and waits for them without limit. */
export function boundPlugins(config: KubeConfig): void {
  const { authenticators } = config as unknown as { authenticators: { execFn?: unknown }[] }
  for (const it of authenticators) {
    if (it.execFn)
      it.execFn = (command: string, args: string[] | undefined, options: SpawnOptions) =>
        startPlugin(command, args, options)
  }
}

/** Returns why the plug-in of a user gave no credentials; `reason` is what it wrote. Undefined if the user has none. */
export function pluginFailure(user: User | null, origin: string, reason: string): string | undefined {
  const { command } = (user?.exec ?? {}) as { command?: string }
  if (command === undefined) return undefined
  const text = redactSecrets(cutText(reason, MAX_REASON)).trim().replace(/\s+/g, ' ')
  return `the exec plug-in ${command} of the kubeconfig ${origin} gave no credentials${text && `: ${text}`}`
}
