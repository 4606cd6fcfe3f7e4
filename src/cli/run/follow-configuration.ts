import type { App } from '../../app.ts'
import type { Config } from '../../config/schema.ts'
import { redactMessage } from '../../redact.ts'
import {
  type Differences,
  describeDifferences,
  describeRestart,
  restartKeys,
} from '../../reload/differences.ts'
import { type CommandLog, tellWarnings } from '../command-log.ts'
import type { Configuration } from '../reading/configuration.ts'
import type { Reread } from '../reading/reread.ts'
import { watchFiles } from './watch-files.ts'

export interface Following {
  /** Reads the configuration anew, at once. */
  reload(): Promise<void>
  close(): void
}

export interface FollowOptions {
  app: Pick<App, 'apply' | 'reloads' | 'renewRedis'>
  output: CommandLog
  /** Told of each configuration that came into use. */
  onApplied?(config: Config): void
  everyMs?: number
  settledMs?: number
}

/** What cannot be put in force for a reason outside of its files, such as a full disk, is tried again. */
const AGAIN_MS = 30_000

/**
 * Puts a configuration in force whenever its file, or one that it takes in by `${file:…}`, is another: that is also how secrets
 * are rotated. One that is not good changes nothing, and is told.
 */
export function followConfiguration(configuration: Configuration, options: FollowOptions): Following {
  const { app, output } = options
  const { log } = output
  let { reads, shownWarnings } = configuration
  let told: string | undefined
  let running: Promise<void> | undefined
  let askedAgain = false
  let retry: NodeJS.Timeout | undefined
  let closed = false

  function reject(problem: string, shown = '', place?: string): void {
    if (told === problem) return
    told = problem
    app.reloads.rejected(problem, place)
    const text = 'the configuration changed, and is not good: the one before stays in use'
    const isShown = output.format === 'text' && shown !== ''
    log.error(isShown ? {} : { problem }, text)
    if (isShown) process.stderr.write(shown)
  }

  async function accept(again: Extract<Reread, { ok: true }>): Promise<void> {
    const changes = await app.apply(again.config)
    app.renewRedis(again.config.redis)
    told = undefined
    const restart = restartKeys(configuration.config, again.config)
    app.reloads.applied(again.digest, restart)
    options.onApplied?.(again.config)
    if (again.shownWarnings !== shownWarnings) tellWarnings(again, output)
    shownWarnings = again.shownWarnings
    const said = describeDifferences(changes) ?? 'nothing changed'
    log.info({ digest: again.digest, ...namesOf(changes) }, `configuration reloaded: ${said}`)
    if (restart.length > 0) log.warn({ keys: restart }, describeRestart(restart))
  }

  async function reloadOnce(): Promise<void> {
    clearTimeout(retry)
    const before = reads
    try {
      const again = await configuration.reread()
      reads = again.reads
      if (!again.ok) return reject(again.problem, again.shown, again.place)
      await accept(again)
    } catch (error) {
      if (closed) return
      reject(redactMessage((error as Error).message))
      if (reads === before) reads = await before.again()
      retry = setTimeout(() => void reload(), AGAIN_MS)
    }
  }

  async function reloadAll(): Promise<void> {
    do {
      askedAgain = false
      await reloadOnce()
    } while (askedAgain && !closed)
  }

  /** One at a time; what is asked for while one is under way comes behind it. */
  function reload(): Promise<void> {
    if (closed) return Promise.resolve()
    askedAgain = true
    running ??= reloadAll().finally(() => {
      running = undefined
    })
    return running
  }

  // What is being read need not be read again; a change that came too late for that is seen by the next look.
  const watching = watchFiles(
    () => reads,
    () => running ?? reload(),
    options,
  )
  return {
    reload() {
      told = undefined
      return reload()
    },
    close() {
      closed = true
      clearTimeout(retry)
      watching.close()
    },
  }
}

/** `{ sinksAdded: ['bus'], … }`; what did not change is not there. */
function namesOf({ watches, sinks, rules }: Differences): Record<string, readonly string[]> {
  const lists = Object.entries({ watches, sinks, rules }).flatMap(([what, { added, removed, changed }]) => [
    [`${what}Added`, added] as const,
    [`${what}Removed`, removed] as const,
    [`${what}Changed`, changed] as const,
  ])
  return Object.fromEntries(lists.filter(([, names]) => names.length > 0))
}
