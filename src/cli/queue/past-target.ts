import { type HistoryTarget, historyTarget } from '../../store/history/history-target.ts'
import { UsageError } from '../usage-error.ts'

/** What a command about the past was asked for. Throws a UsageError for what is neither an object nor an event. */
export function pastTarget(text: string): HistoryTarget {
  const target = historyTarget(text)
  if (!target)
    throw new UsageError(
      `"${text}" is not an object: write kind/namespace/name or kind/name, such as deploy/shop/web or node/worker-1, or the id of an event`,
    )
  return target
}
