import { duration } from '../../../text/quantities.ts'
import type { SinkLine } from '../data/contract.ts'
import { exact } from '../shown.ts'
import { Text } from './text.tsx'

interface Step {
  label: string
  fromMs: number
  toMs: number
  /** Only for an attempt: the end of the message's rendering, in Unix milliseconds. */
  renderedMs?: number
  kind: 'lane' | 'good' | 'bad'
  result: string
  error?: string | undefined
}

type Calls = Pick<SinkLine, 'enqueuedMs' | 'attempts' | 'attemptCount'>

/** From the lane to the answer: how long a delivery waited, and each attempt with its rendering. */
export function Waterfall({ line }: { line: Calls }) {
  const steps = stepsOf(line)
  const [fromMs, toMs] = [Math.min(...steps.map((it) => it.fromMs)), Math.max(...steps.map((it) => it.toMs))]
  const all = Math.max(1, toMs - fromMs)
  const percent = (ms: number) => `${((100 * ms) / all).toFixed(2)}%`
  if (steps.length === 0) return null
  const span = (from: number, to: number, kind: string) => (
    <span class={`span ${kind}`} style={{ left: percent(from - fromMs), width: percent(to - from) }} />
  )
  return (
    <ol class="waterfall" aria-label="Attempts">
      {steps.map((step) => (
        <li key={step.label}>
          <span class="step">{step.label}</span>
          <span class="track" title={`${exact(step.fromMs)} – ${exact(step.toMs)}`}>
            {span(step.fromMs, step.toMs, step.kind)}
            {step.renderedMs && span(step.fromMs, step.renderedMs, 'rendered')}
          </span>
          <span class="took">{duration(step.toMs - step.fromMs)}</span>
          <span class="result">{step.error === undefined ? step.result : <Text of={step.error} />}</span>
        </li>
      ))}
    </ol>
  )
}

/** Number of first attempts that are kept when there are more attempts than are kept; the others are the last ones. */
const FIRST_KEPT = 2

function stepsOf({ enqueuedMs, attempts, attemptCount }: Calls): Step[] {
  const left = attemptCount - attempts.length
  const first = attempts[0]
  const steps: Step[] = []
  if (enqueuedMs !== undefined && first)
    steps.push({
      label: 'in lane',
      fromMs: Math.min(enqueuedMs, first.atMs),
      toMs: first.atMs,
      kind: 'lane',
      result: 'observed, stored, read',
    })
  for (const [index, { atMs, tookMs, renderedMs = 0, error }] of attempts.entries()) {
    const isAfterGap = left > 0 && index >= FIRST_KEPT
    if (left > 0 && index === FIRST_KEPT) {
      const before = attempts[index - 1]
      steps.push({
        label: `${left} more`,
        fromMs: before ? before.atMs + before.tookMs : atMs,
        toMs: atMs,
        kind: 'lane',
        result: 'attempts that are not kept one by one',
      })
    }
    steps.push({
      label: `attempt ${index + 1 + (isAfterGap ? left : 0)}`,
      fromMs: atMs,
      toMs: atMs + tookMs,
      ...(renderedMs > 0 && { renderedMs: atMs + renderedMs }),
      ...(error === undefined
        ? { kind: 'good', result: `rendered in ${duration(renderedMs)}, answered: accepted` }
        : { kind: 'bad', result: '', error }),
    } as Step)
  }
  return steps
}
