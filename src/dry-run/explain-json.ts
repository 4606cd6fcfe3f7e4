import { headerOf } from '../event.ts'
import type { Message } from '../sink/index.ts'
import type { DryRun } from './dry-run.ts'
import type { Explanation } from './explain-event.ts'
import { limitWords } from './limit-words.ts'

/** An explanation as plain data. */
export function explainJson(run: DryRun, { event, watched, watchPlace, rules, fate }: Explanation): object {
  const config = new Map(run.generation.config.rules.map((rule) => [rule.name, rule]))
  return {
    event: headerOf(event),
    watched: watched.entry === undefined ? false : { entry: watched.entry, place: watchPlace },
    ...(watched.entry === undefined && { watchMisses: watched.kinds }),
    counted: fate.counted,
    rules: rules.map(({ rule, place, verdict, asked, fate: own, messages }) => ({
      rule,
      place,
      verdict,
      conditions: asked.map((it) => ({ ...it, seen: it.seen ?? null })),
      limits: limitWords(config.get(rule) ?? {}),
      ...(own && { fate: own }),
      messages: messages.map((it) => ({ sink: it.sink, type: it.type, ...told(run, it.message, it.sink) })),
    })),
    sent: fate.sent.map(({ delivery: { sink, rule, notice } }) => ({
      sink,
      rule,
      ...(notice && { notice }),
    })),
  }
}

function told(run: DryRun, message: Message, sink: string): object {
  try {
    return { ...run.generation.choices.preview(message, sink), content: message.content }
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) }
  }
}
