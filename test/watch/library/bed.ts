import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Change, Changes, Warning, WatchOptions } from '../../../src/watch/library/types.ts'
import { type LibraryTiming, startWatch } from '../../../src/watch/library/watch.ts'
import { programMain } from '../../program.ts'
import { type Program, startProgram } from '../../servers/process.ts'
import { type ScriptedApi, startScriptedApi } from '../../servers/scripted-api.ts'
import { waitFor } from '../../wait-for.ts'
import { kubeconfigFor } from '../bed.ts'

/** Pauses short enough for tests; nothing depends on how short. */
export const QUICK: Partial<LibraryTiming> = {
  backoffFirstMs: 20,
  backoffMaxMs: 200,
  endPauseMs: 20,
  slowRetryMs: 100,
  positionEveryMs: 0,
  identityFreshMs: 0,
  discoveryMs: 50,
  settleMs: 100,
  saveEveryMs: 20,
}

/** `ADDED a@5`, with ` synthesized` behind it where it was. */
export function label({ type, name, resourceVersion, synthesized }: Change): string {
  return `${type} ${name}@${resourceVersion}${synthesized ? ' synthesized' : ''}`
}

/** Takes changes as fast as they come, until the iteration ends. */
export function collect(changes: Changes, each: (change: Change) => unknown = () => {}) {
  const seen: Change[] = []
  const done = (async () => {
    for await (const change of changes) {
      seen.push(change)
      await each(change)
    }
  })()
  done.catch(() => {})
  return {
    seen,
    done,
    labels: () => seen.map(label),
    arrived: (count: number) =>
      waitFor(() => seen.length >= count, { what: () => `${count} changes; there are ${seen.map(label)}` }),
  }
}

export interface LibraryBed extends AsyncDisposable {
  api: ScriptedApi
  dir: string
  warnings: Warning[]
  /** Starts watching ConfigMaps. */
  open(options?: Partial<WatchOptions>, timing?: Partial<LibraryTiming>): Changes
  /** Waits until a watch is open from a position. */
  watching(from: string): Promise<unknown>
}

/** The library on a scripted API server, whose address is `serverAt`'s. */
export async function startLibraryBed(
  options: { objects?: unknown[]; serverAt?(api: ScriptedApi): string } = {},
): Promise<LibraryBed> {
  const stack = new AsyncDisposableStack()
  const api = stack.use(await startScriptedApi())
  api.objects = options.objects ?? []
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-library-'))
  stack.defer(() => rmSync(dir, { recursive: true, force: true }))
  const kubeconfig = join(dir, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigFor(options.serverAt?.(api) ?? api.url))
  const warnings: Warning[] = []
  return {
    api,
    dir,
    warnings,
    open(own = {}, timing = {}) {
      const all = { kinds: ['ConfigMap'], kubeconfig, onWarning: (it: Warning) => warnings.push(it), ...own }
      const changes = startWatch(all as WatchOptions, { ...QUICK, ...timing })
      stack.defer(() => changes.close().catch(() => {}))
      return changes as Changes
    },
    watching: (from) =>
      waitFor(() => api.watches().some(({ query }) => query.get('resourceVersion') === from), {
        what: () => `a watch from ${from}; there were ${api.watches().map(({ query }) => `${query}`)}`,
      }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** Starts `program.ts` with the library as it ships. */
export function startLibraryProgram(...args: string[]): Program {
  const file = new URL('program.ts', import.meta.url).pathname
  return startProgram(process.execPath, [file, join(dirname(programMain()), 'watch.js'), ...args])
}
