import type { Config } from '../../config/schema.ts'
import { suggest } from '../../config/suggest.ts'
import { mayMean, titleOf, watchedKindOf } from '../../config/watched-kind.ts'
import { parsePatterns } from '../../rules/pattern.ts'
import type { WatchStatus } from '../../status.ts'
import { UsageError } from '../usage-error.ts'

/** A kind that nothing is watched of would be waited for in vain. */
export function requireWatchedKind({ watch }: Pick<Config, 'watch'>, kind: string | undefined): void {
  const parsed = kind === undefined ? undefined : parsePatterns(kind)
  if (kind === undefined || !parsed?.ok || parsed.value.some(({ negated }) => negated)) return
  const watched = watch.flatMap((entry) => watchedKindOf(entry.kind) ?? [])
  if (watched.length < watch.length || parsed.value.some((it) => watched.some((of) => mayMean(it, of))))
    return
  const names = [...new Set(watched.map(titleOf))]
  throw new UsageError(`--kind ${kind}: no entry of "watch" is for it; ${suggest(kind, names, 'there are')}`)
}

/** Says once that all watches go on after some did not. */
export function createRecoveryNote(
  print: (line: string) => void,
): (statuses: readonly WatchStatus[]) => void {
  let interrupted = false
  return (statuses) => {
    if (statuses.some(({ phase, ready }) => ready && (phase === 'reconnecting' || phase === 'failing')))
      interrupted = true
    else if (
      interrupted &&
      statuses.every(({ phase }) => phase === 'watching' || phase === 'waiting-for-kind')
    ) {
      interrupted = false
      print('all watches go on')
    }
  }
}

/** Why nothing could be seen, where no watch ever began. */
export function neverBegan(statuses: readonly WatchStatus[]): string | undefined {
  if (statuses.some(({ ready }) => ready)) return undefined
  const why = statuses.find(({ lastError }) => lastError !== undefined)?.lastError
  return `nothing was seen: no watch has begun${why === undefined ? '' : `: ${why}`}`
}
