import type { App } from '../app.ts'
import type { CommandLog } from './command-log.ts'
import type { Configuration } from './configuration.ts'
import { watchFiles } from './watch-files.ts'

/** Opens sinks anew, and renews what Redis is told, when a file that stands in the configuration as `${file:…}` changes: that is how secrets are rotated. */
export function followFiles(
  { files, reload }: Configuration,
  app: Pick<App, 'reopenSinks' | 'renewRedis'>,
  { log }: CommandLog,
): { close(): void } {
  let told: string | undefined
  return watchFiles(files, async () => {
    const loaded = await reload()
    if (loaded.ok) {
      told = undefined
      app.renewRedis(loaded.config.redis)
      await app.reopenSinks(loaded.config.sinks)
      return true
    }
    const [problem] = loaded.problems
    const where = problem && `${problem.file}:${problem.line}:${problem.column}: ${problem.message}`
    if (where !== told)
      log.error({ problem: where }, 'a file that the configuration refers to changed, and is not good now')
    told = where
    return false
  })
}
