import { stat } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { App } from '../../app/app.ts'
import { type Differences, describeDifferences, restartKeys } from '../../app/reload.ts'
import type { Config } from '../../config/schema.ts'
import { describeRestart } from '../../model/status.ts'
import { redactMessage } from '../../text/redact.ts'
import { type CommandLog, printWarnings } from '../command-log.ts'
import type { Configuration } from '../load-config/configuration.ts'
import type { FileReads } from '../load-config/file-reads.ts'
import type { Reread } from '../load-config/reread.ts'
import { readStorageSettings } from '../load-config/settings.ts'

interface FollowedConfiguration {
  /** Reads the configuration again, immediately. */
  reload(): Promise<void>
  close(): void
}

interface FollowOptions {
  app: Pick<App, 'apply' | 'reloads' | 'renewRedis' | 'rotateRedis'>
  output: CommandLog
  /** Called for each configuration that came into use. */
  onApplied?(config: Config): Promise<void>
  everyMs?: number
  settledMs?: number
}

/** A reload that failed for a reason outside of its files, such as a full disk, is repeated. */
const RETRY_MS = 30_000

/**
 * Applies the configuration whenever its files change, including those of `${file:…}`: that is also how secrets are rotated. A wrong
 * one changes nothing and is reported.
 */
export function followConfiguration(
  configuration: Configuration,
  options: FollowOptions,
): FollowedConfiguration {
  const { app, output } = options
  const { log } = output
  let { reads, shownWarnings } = configuration
  let reported: string | undefined
  let running: Promise<void> | undefined
  let askedAgain = false
  let retry: NodeJS.Timeout | undefined
  let closed = false

  function reject(problem: string, shown = '', place?: string): void {
    if (reported === problem) return
    reported = problem
    app.reloads.rejected(problem, place)
    const text = 'the configuration changed, and is not good: the one before stays in use'
    const isShown = output.format === 'text' && shown !== ''
    log.error(isShown ? {} : { problem }, text)
    if (isShown) process.stderr.write(shown)
  }

  async function accept(again: Extract<Reread, { ok: true }>): Promise<void> {
    const { redis } = again.config
    app.rotateRedis(redis)
    const changes = await app.apply(again.config)
    app.renewRedis(redis)
    reported = undefined
    const restart = restartKeys(configuration.config, again.config)
    app.reloads.applied(again.digest, restart)
    await options.onApplied?.(again.config)
    if (again.shownWarnings !== shownWarnings) printWarnings(again, output)
    shownWarnings = again.shownWarnings
    const differences = describeDifferences(changes) ?? 'nothing changed'
    log.info({ digest: again.digest, ...namesOf(changes) }, `configuration reloaded: ${differences}`)
    if (restart.length > 0) log.warn({ keys: restart }, describeRestart(restart))
  }

  /** Takes over credentials of Redis that were exchanged, whatever is wrong with rules and sinks. */
  async function rotateRedis(): Promise<void> {
    const { file } = configuration
    if (file === undefined) return
    try {
      // A pipe can be read once.
      if ((await stat(file)).isFile()) app.rotateRedis((await readStorageSettings(file)).redis)
    } catch {
      // The section itself is not good, or the file is gone: that was reported.
    }
  }

  async function reloadOnce(): Promise<void> {
    clearTimeout(retry)
    const before = reads
    try {
      const again = await configuration.reread()
      reads = again.reads
      if (!again.ok) {
        reject(again.problem, again.shown, again.place)
        return await rotateRedis()
      }
      await accept(again)
    } catch (error) {
      if (closed) return
      reject(redactMessage((error as Error).message))
      if (reads === before) reads = await before.again()
      retry = setTimeout(() => void reload(), RETRY_MS)
    }
  }

  async function reloadAll(): Promise<void> {
    do {
      askedAgain = false
      await reloadOnce()
    } while (askedAgain && !closed)
  }

  /** Runs one reload at a time; a request during one causes another after it. */
  function reload(): Promise<void> {
    if (closed) return Promise.resolve()
    askedAgain = true
    running ??= reloadAll().finally(() => {
      running = undefined
    })
    return running
  }

  // A change during a reload that the reload missed is noticed by the next poll.
  const watching = watchFiles(
    () => reads,
    () => running ?? reload(),
    options,
  )
  return {
    reload() {
      reported = undefined
      return reload()
    },
    close() {
      closed = true
      clearTimeout(retry)
      watching.close()
    },
  }
}

/** `{ sinksAdded: ['bus'], … }`, without unchanged parts. */
function namesOf({ watches, sinks, rules }: Differences): Record<string, readonly string[]> {
  const lists = Object.entries({ watches, sinks, rules }).flatMap(([what, { added, removed, changed }]) => [
    [`${what}Added`, added] as const,
    [`${what}Removed`, removed] as const,
    [`${what}Changed`, changed] as const,
  ])
  return Object.fromEntries(lists.filter(([, names]) => names.length > 0))
}

const EVERY_MS = 2_000
const SETTLED_MS = 500

/**
 * Polls for changed files, however they are replaced: rewritten, renamed over, or by the symbolic links of a Kubernetes volume.
 * A change counts once it has been stable for `settledMs`. `reads` is called for each poll; `onChange` is awaited.
 */
export function watchFiles(
  reads: () => Pick<FileReads, 'changed'>,
  onChange: () => Promise<void>,
  { everyMs = EVERY_MS, settledMs = SETTLED_MS }: { everyMs?: number; settledMs?: number } = {},
): { close(): void } {
  const closing = new AbortController()
  const { signal } = closing

  async function poll(): Promise<void> {
    const before = reads()
    const state = await before.changed()
    if (state === undefined) return
    await pause(settledMs, undefined, { signal })
    // Another reload may have read them meanwhile.
    if ((await before.changed()) === state && reads() === before) await onChange()
  }

  async function pollForever(): Promise<void> {
    for (;;) {
      await pause(everyMs, undefined, { signal })
      await poll().catch(() => {})
    }
  }
  void pollForever().catch(() => {})
  return { close: () => closing.abort() }
}
