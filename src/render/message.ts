import type { ContainerLog, Delivery } from '../model/delivery.ts'
import type { Content, Field, Link, Markup, Message, RuleSeverity, Summary } from '../sink/index.ts'
import { additionalFields, cloudEvent, limitFields, messageId } from '../sink/message.ts'
import { textOutput } from '../sink/template/engine.ts'
import { TemplateFault } from '../sink/template/fault.ts'
import { compileProgram, type Program } from '../sink/template/program.ts'
import { isSeverity, type MessageParts, type MessageTemplates, urlOf } from './message-schema.ts'
import { changesOnce, quoteUnless, withoutRepeated } from './repeated.ts'
import { decidesSeverity, markedTitle } from './resolve-mark.ts'
import { summarize } from './summary/index.ts'

/** The severity and labels of a rule. */
export interface RuleAttributes {
  severity?: RuleSeverity | undefined
  labels?: Readonly<Record<string, string>> | undefined
}

/** The parts of the configuration that rendering uses. */
interface RenderOptions {
  /** The options that a rule has for a sink. */
  routeOf(rule: string, sink: string): unknown
  /** Its severity and labels; without it no rule has any. */
  ruleOf?(rule: string): RuleAttributes | undefined
  /** Renders the content of a summary by the templates of rule and sink. */
  contentOf(message: Message, sink: string): Content
  /** Returns a text in the markup of a sink as its reader sees it; without it there is no markup. */
  plainOf?(text: string, sink: string): string
}

export type Render = (delivery: Delivery, attempt: number) => RenderedMessage

/** `shownTitle`: the title of its content as plain text, once a sink has read that. `renderedMs`: how long rendering took so far. */
type RenderedMessage = Message & { readonly shownTitle: string | undefined; readonly renderedMs: number }

/** Creates the messages for sinks; expensive parts are computed on first use. */
export function createRender(options: RenderOptions): Render {
  return (delivery, attempt) => new LazyMessage(delivery, attempt, options)
}

const NO_LABELS = {}
/** As much of a title as the history can need, markup included. */
const MAX_SHOWN = 1_000

class LazyMessage implements RenderedMessage {
  readonly attempt: number
  readonly labels: Readonly<Record<string, string>>
  declare readonly severity?: RuleSeverity
  declare readonly notice?: NonNullable<Message['notice']>
  declare readonly order?: string
  declare readonly releasedAt?: string
  declare readonly suppressed?: NonNullable<Message['suppressed']>
  declare readonly logs?: ContainerLog
  declare readonly replayed?: true
  declare readonly retried?: true
  declare readonly truncated?: true
  readonly #delivery: Delivery
  readonly #options: RenderOptions
  #object: Record<string, unknown> | undefined
  #cloudEvent: Buffer | undefined
  #summary: Summary | undefined
  #content: Content | undefined
  #renderedMs = 0
  #isRendering = false

  constructor(delivery: Delivery, attempt: number, options: RenderOptions) {
    this.#delivery = delivery
    this.attempt = attempt
    this.#options = options
    const { severity, labels = NO_LABELS } = options.ruleOf?.(delivery.rule) ?? {}
    this.labels = labels
    if (severity) this.severity = severity
    if (delivery.notice) this.notice = delivery.notice
    if (delivery.order !== undefined) this.order = delivery.order
    if (delivery.releasedAt !== undefined) this.releasedAt = delivery.releasedAt
    if (delivery.suppressed) this.suppressed = delivery.suppressed
    if (delivery.logs) this.logs = delivery.logs
    if (delivery.replayed) this.replayed = true
    if (delivery.replay) this.retried = true
    if (delivery.truncated) this.truncated = true
  }

  get id(): string {
    return messageId(this.#delivery)
  }

  get rule(): string {
    return this.#delivery.rule
  }

  get event(): Message['event'] {
    return this.#delivery.event
  }

  get route(): unknown {
    return this.#options.routeOf(this.#delivery.rule, this.#delivery.sink)
  }

  get object(): Readonly<Record<string, unknown>> {
    this.#object ??= JSON.parse(this.#delivery.objectJson.toString()) as Record<string, unknown>
    return this.#object
  }

  get objectJson(): Buffer {
    return this.#delivery.objectJson
  }

  get summary(): Summary {
    this.#summary ??= this.#timed(() => this.#summarize())
    return this.#summary
  }

  get content(): Content {
    this.#content ??= this.#timed(() => this.#options.contentOf(this, this.#delivery.sink))
    return this.#content
  }

  get shownTitle(): string | undefined {
    const title = this.#content?.title.slice(0, MAX_SHOWN)
    return title && (this.#options.plainOf?.(title, this.#delivery.sink) ?? title)
  }

  get cloudEvent(): Buffer {
    this.#cloudEvent ??= this.#timed(() => cloudEvent(this))
    return this.#cloudEvent
  }

  get renderedMs(): number {
    return this.#renderedMs
  }

  /** A part that needs another one contains its time. */
  #timed<T>(make: () => T): T {
    if (this.#isRendering) return make()
    this.#isRendering = true
    const startedMs = performance.now()
    try {
      return make()
    } finally {
      this.#renderedMs += performance.now() - startedMs
      this.#isRendering = false
    }
  }

  #summarize(): Summary {
    const summary = summarize(this)
    const { severity } = this
    return severity === undefined || summary.severity === 'resolved' ? summary : { ...summary, severity }
  }
}

/** Returns the position of a part of a message in the configuration: `kubeherald.yaml:12:15`. */
type PlaceOf = (path: readonly PropertyKey[], offset: number) => string

interface MessageOptions {
  placeOf?: { rule?: PlaceOf | undefined; sink?: PlaceOf | undefined }
  /** For the filter `age`. */
  clock?: { now(): number }
}

/**
 * Compiles a rule's `message` and a sink's `messages` into a function that renders the content. It throws a
 * TemplateFault.
 */
export function compileMessage(
  ofRule: MessageTemplates | undefined,
  ofSink: MessageTemplates | undefined,
  markup: Markup = {},
  { placeOf = {}, clock = Date }: MessageOptions = {},
): (message: Message) => Content {
  const parts = { ...partsOf(ofSink, placeOf.sink), ...partsOf(ofRule, placeOf.rule) }
  const inMarkup = (text: string) => (markup.escape && text !== '' ? markup.escape(text) : text)
  const setting = { markup, now: () => clock.now() }

  return (message) => {
    const { summary, logs } = message
    const fieldInMarkup = (it: Field) => ({ title: inMarkup(it.title), value: inMarkup(it.value) })
    const additional = parts.fields === false ? [] : additionalFields(message)
    const rendered = (part: Part) =>
      atPlace(part, () => part.program.run(message, textOutput, setting).buffer)
    const ownTitle = inMarkup(summary.title)
    const title =
      parts.title &&
      markedTitle(message, parts.title.program.source, oneLine(rendered(parts.title)), oneLine(ownTitle))
    const severity =
      parts.severity && decidesSeverity(message, parts.severity.program.source)
        ? rendered(parts.severity).trim().toLowerCase()
        : undefined
    const shown = {
      title: title || ownTitle,
      text: parts.text ? rendered(parts.text).trim() : inMarkup(summary.text),
    }
    const fields = parts.fields
      ? [
          ...parts.fields
            .map(([name, part]) => ({ title: inMarkup(name), value: rendered(part).trim() }))
            .filter(({ value }) => value !== ''),
          ...additional.map(fieldInMarkup),
        ]
      : parts.fields === false
        ? []
        : limitFields(
            withoutRepeated(summary.fields.map(fieldInMarkup), shown),
            additional.map(fieldInMarkup),
          )
    const quote = parts.quote === false ? '' : quoteUnless(summary.quote, shown, inMarkup)
    return {
      severity: severity !== undefined && isSeverity(severity) ? severity : summary.severity,
      ...shown,
      fields,
      links: (parts.links ?? []).flatMap(([name, part]): Link[] => {
        const url = atPlace(part, () => urlOf(part.program, message, setting.now))
        return url === undefined ? [] : [{ title: inMarkup(name), url }]
      }),
      quote,
      ...(logs && parts.logs !== false && { logs: logLines(logs) }),
      changes:
        parts.changes === false ? [] : changesOnce(summary.changes, { ...shown, quote, fields }, inMarkup),
      command: parts.command === false ? '' : summary.command,
    }
  }
}

/** `Log of app, previous run`, and the lines below; one line where it could not be read. */
function logLines({ container, previous, text, error }: ContainerLog): string {
  const what = `Log${container === undefined ? '' : ` of ${container}`}${previous ? ', previous run' : ''}`
  if (text === undefined) return `${what}: not read (${error ?? 'unknown'})`
  return text === '' ? `${what}: empty` : `${what}:\n${text}`
}

interface Part {
  program: Program
  place: ((offset: number) => string) | undefined
}

interface PlacedParts {
  title?: Part
  text?: Part
  severity?: Part
  fields?: readonly (readonly [string, Part])[] | false
  links?: readonly (readonly [string, Part])[]
  quote?: boolean
  logs?: boolean
  changes?: boolean
  command?: boolean
}

/** A plain text replaces all other parts. */
function partsOf(templates: MessageTemplates | undefined, placeOf: PlaceOf | undefined): PlacedParts {
  if (templates === undefined) return {}
  const part = (program: Program, ...path: PropertyKey[]): Part => ({
    program,
    place: placeOf && ((offset) => placeOf(path, offset)),
  })
  if (isProgram(templates))
    return { title: part(templates), text: part(NOTHING), fields: false, links: [], ...SILENT }
  const { title, text, severity, fields, links, ...flags } = templates
  const named = (key: string, programs: Readonly<Record<string, Program>>) =>
    Object.entries(programs).map(([name, program]) => [name, part(program, key, name)] as const)
  return {
    ...(title && { title: part(title, 'title') }),
    ...(text && { text: part(text, 'text') }),
    ...(severity && { severity: part(severity, 'severity') }),
    ...(fields !== undefined && { fields: fields === false ? fields : named('fields', fields) }),
    ...(links && { links: named('links', links) }),
    ...(flags as Pick<PlacedParts, 'quote' | 'logs' | 'changes' | 'command'>),
  }
}

const SILENT = { quote: false, logs: false, changes: false, command: false }
const NOTHING = constant('')

function constant(text: string): Program {
  const compiled = compileProgram(text)
  if (!compiled.ok) throw new Error(text)
  return compiled.program
}

function isProgram(templates: Program | MessageParts): templates is Program {
  return 'run' in templates
}

/** Adds the position in the configuration to a fault. */
function atPlace<T>({ place }: Part, render: () => T): T {
  try {
    return render()
  } catch (error) {
    if (!(error instanceof TemplateFault) || !error.problem || !place) throw error
    const { message, offset } = error.problem
    throw new TemplateFault(`${place(offset)}: ${message}`, { cause: error, problem: error.problem })
  }
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** The templates of the configuration. */
interface MessageConfig {
  rules: readonly { name: string; message?: MessageTemplates | undefined }[]
  sinks: readonly { name: string; messages?: MessageTemplates | undefined }[]
  /** Returns the position of a value in the file, for faults. */
  placeOf?: (path: readonly PropertyKey[], offset?: number) => string
}

/**
 * Returns a function that renders the content of a message for a sink: by its rule's `message`, else the sink's
 * `messages`, else its summary. `markupOf` returns the markup of a sink. It throws a TemplateFault with the
 * position in the file.
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
