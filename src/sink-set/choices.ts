import { routeOf } from '../config/routes.ts'
import type { Config } from '../config/schema.ts'
import type { Delivery } from '../delivery.ts'
import { createContents } from '../render/contents.ts'
import { createRender, type Render, type RuleSays } from '../render/message.ts'
import {
  laneByObject,
  type Markup,
  type Message,
  orderOf,
  type Preview,
  type SinkType,
} from '../sink/index.ts'
import { laneName } from '../sink/lane.ts'

/** What the types of the configured sinks say, asked by a sink's name. */
export interface SinkChoices {
  typeOf(sink: string): SinkType
  /** delivery → message, with the rule's options and templates */
  render: Render
  /** `<sink>/<lane>`: the sink's own choice, or one of a few by the object's name, or by the group it was told in. */
  laneOf(delivery: Delivery): string
  /** Where a message for a sink goes, and what is sent, as far as its type can say. May throw a TemplateFault. */
  preview(message: Message, sink: string): Preview
  /** It sends several messages in one request. */
  batches(sink: string): boolean
  /** It shows people what changed. */
  tellsChanges(sink: string): boolean
}

/** Loads the types of the configured sinks; `load` gives one by the word behind `type:`. */
export async function chooseSinks(
  config: Config,
  load: (type: string) => Promise<SinkType>,
  clock?: { now(): number },
): Promise<SinkChoices> {
  const types = new Map<string, SinkType>()
  const options = new Map<string, unknown>()
  for (const sink of config.sinks) {
    types.set(sink.name, await load(sink.type))
    options.set(sink.name, sink.options)
  }
  const rules = new Map<string, RuleSays>(config.rules.map((rule) => [rule.name, rule as RuleSays]))
  const typeOf = (sink: string) => types.get(sink) as SinkType
  const markupOf = (sink: string): Markup => typeOf(sink).markup?.(options.get(sink)) ?? typeOf(sink)
  const render = createRender({
    routeOf: (rule, sink) => routeOf(config.routes, rule, sink),
    ruleOf: (rule) => rules.get(rule),
    contentOf: createContents(config, markupOf, clock),
  })
  return {
    typeOf,
    render,
    laneOf(delivery) {
      const { sink } = delivery
      const lane = types.get(sink)?.lane
      const chosen = lane && laneName(() => lane(render(delivery, 0), options.get(sink)))
      return `${sink}/${chosen ?? `n${laneByObject({ uid: orderOf(delivery) })}`}`
    },
    preview: (message, sink) => types.get(sink)?.preview?.(message, options.get(sink)) ?? {},
    batches: (sink) => types.get(sink)?.batches?.(options.get(sink)) ?? false,
    tellsChanges: (sink) => types.get(sink)?.tellsChanges?.(options.get(sink)) ?? false,
  }
}
