import type { Content, Markup, Message } from '../sink/index.ts'
import { compileMessage } from './content.ts'
import type { MessageTemplates } from './message-schema.ts'

/** What of the configuration tells how messages look. */
export interface MessageConfig {
  rules: readonly { name: string; message?: MessageTemplates | undefined }[]
  sinks: readonly { name: string; messages?: MessageTemplates | undefined }[]
  /** Where a value stands in the file, for faults. */
  placeOf?: (path: readonly PropertyKey[], offset?: number) => string
}

/**
 * Makes what people read of a message, for a sink: by its rule's `message`, else the sink's `messages`, else its words.
 * `markupOf` gives the type of a sink. What is made throws a TemplateFault, which names its place in the file.
 */
export function createContents(
  { rules, sinks, placeOf }: MessageConfig,
  markupOf: (sink: string) => Markup,
  clock: { now(): number } = Date,
): (message: Message, sink: string) => Content {
  const placeUnder = (...path: PropertyKey[]) =>
    placeOf && ((inner: readonly PropertyKey[], offset: number) => placeOf([...path, ...inner], offset))
  const compiled = new Map<string, (message: Message) => Content>()

  function compile(rule: string, sink: string): (message: Message) => Content {
    const index = rules.findIndex(({ name }) => name === rule)
    return compileMessage(
      rules[index]?.message,
      sinks.find(({ name }) => name === sink)?.messages,
      markupOf(sink),
      {
        placeOf: { rule: placeUnder('rules', index, 'message'), sink: placeUnder('sinks', sink, 'messages') },
        clock,
      },
    )
  }

  return (message, sink) => {
    const key = `${sink}/${message.rule}`
    const make = compiled.get(key) ?? compile(message.rule, sink)
    compiled.set(key, make)
    return make(message)
  }
}
