import { printable } from '../printable.ts'
import type { Message } from '../sink/index.ts'
import { contentLines } from './content-lines.ts'
import type { DryRun } from './dry-run.ts'

/** What a sink would be sent: where to, and what, line by line, safe on a terminal. */
export interface ToldLines {
  /** '' where the sink's type does not say. */
  target: string
  lines: readonly string[]
  /** It cannot be rendered: the delivery would be a dead letter. */
  fault?: string
}

const MOST_BODY = 200

/** `whole` shows what programs get in full. */
export function toldLines(run: DryRun, message: Message, sink: string, whole = false): ToldLines {
  const { choices } = run.generation
  try {
    const { target = '', body } = choices.preview(message, sink)
    const forPeople = choices.tellsChanges(sink) || body === undefined
    const lines = forPeople ? contentLines(message.content) : bodyLines(body, whole)
    return { target: printable(target), lines }
  } catch (error) {
    const fault = printable(error instanceof Error ? error.message : String(error))
    return { target: '', lines: [], fault }
  }
}

function bodyLines(body: string, whole: boolean): string[] {
  const text = body.trimEnd()
  if (whole) return indentedJson(text).split('\n').map(printable)
  const line = printable(text)
  return [line.length > MOST_BODY ? `${line.slice(0, MOST_BODY)}… (${Buffer.byteLength(text)} bytes)` : line]
}

function indentedJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}
