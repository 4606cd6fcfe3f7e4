import { durationText } from '../sink/duration.ts'
import { UsageError } from './usage-error.ts'

const Span = durationText({ least: '1s', most: '30d', example: '1h' })

/** Milliseconds of an argument such as `30s`, `1h`, `7d`. */
export function spanOf(option: string, text: string): number {
  const parsed = Span.safeParse(text)
  if (parsed.success) return parsed.data
  throw new UsageError(`${option} ${text}: ${parsed.error.issues[0]?.message ?? 'is no duration'}`)
}
