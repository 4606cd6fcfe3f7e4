import { setTimeout as pause } from 'node:timers/promises'
import type { Message } from '../message.ts'
import type { ConfigSchema, Outcome, SchemaIssue, Sink, SinkContext, SinkType } from '../sink.ts'
import { ConformanceFault, expect, faultsOfAnswer, skip, within } from './assertions.ts'
import { type TestContext, testContext } from './context.ts'
import { type SampleOptions, sampleMessages } from './messages.ts'

const NEVER = new AbortController().signal
/** Time limit of calls that are not the subject of a check. */
const CALL_LIMIT_MS = 60_000
const PATIENCE_MS = 15_000
/** For sinks that a check left open; whether they close is the subject of others. */
const CLEAN_UP_MS = 1_000
const DEFAULT_BATCH = 128
const PACED = ' (it paces itself: give it options without narrow limits, or a longer patienceMs)'

/** A sink type with a target of its own, for one check. */
export class Bench implements AsyncDisposable {
  readonly type: SinkType
  readonly target: Target
  readonly patienceMs: number
  readonly #setup: Setup
  readonly #opened: OpenedSink[] = []

  private constructor(type: SinkType, setup: Setup, target: Target) {
    this.type = type
    this.target = target
    this.#setup = setup
    this.patienceMs = setup.patienceMs ?? PATIENCE_MS
  }

  static async start(type: SinkType, setup: Setup): Promise<Bench> {
    return new Bench(type, setup, await setup.start())
  }

  async open(): Promise<OpenedSink> {
    const config = await accepted(
      this.type.config,
      this.target.options,
      'config',
      'the options of the target',
    )
    const context = testContext(this.#setup.context)
    const sink = await within(CALL_LIMIT_MS, (async () => this.type.open(config, context))(), 'open')
    const opened = new OpenedSink(sink, this, context)
    this.#opened.push(opened)
    return opened
  }

  /** Messages whose objects no other call of this check has. */
  async samples(count: number, prefix: string, options: SampleOptions = {}): Promise<Message[]> {
    return sampleMessages(count, { prefix, route: await this.route(), type: this.type, ...options })
  }

  route(): Promise<unknown> {
    const { route = {} } = this.#setup
    return this.type.route ? accepted(this.type.route, route, 'route', 'the route') : Promise.resolve(route)
  }

  /** Injects a fault, or skips the check if the target cannot. */
  async fault(name: 'refuse' | 'hang'): Promise<Faults> {
    const faults = this.target.faults
    if (!faults?.[name]) skip(`the target has no fault "${name}"`)
    await faults[name]()
    return faults
  }

  async received(): Promise<readonly string[]> {
    return this.target.received()
  }

  /** Closes sinks that a check left open, and checks for leaked secrets. */
  async finish(): Promise<void> {
    for (const opened of this.#opened) {
      await within(CALL_LIMIT_MS, opened.sink.close(), 'close')
      opened.refuseLeak(opened.context.loggedText(), 'a log line or metric')
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.target.faults?.restore()
    // A sink that does not close has been reported already.
    for (const { sink } of this.#opened)
      await within(CLEAN_UP_MS, sink.close(), 'close').catch(() => undefined)
    await this.target.stop()
  }
}

/** An opened sink; every answer of it is held against the contract. */
export class OpenedSink {
  readonly sink: Sink
  readonly context: TestContext
  readonly #bench: Bench
  readonly #secrets: readonly string[]

  constructor(sink: Sink, bench: Bench, context: TestContext) {
    this.sink = sink
    this.context = context
    this.#bench = bench
    this.#secrets = secretsOf(bench.target)
  }

  get maxBatch(): number {
    return this.#bench.type.maxBatch ?? DEFAULT_BATCH
  }

  /** One call. An exception of deliver is a fault. */
  async deliver(
    batch: readonly Message[],
    signal: AbortSignal = NEVER,
    limitMs = CALL_LIMIT_MS,
  ): Promise<Outcome[]> {
    const answer: unknown = await within(limitMs, this.#call(batch, signal), 'deliver')
    const faults = faultsOfAnswer(batch, answer)
    expect(faults.length === 0, () => faults.slice(0, 5).join('; '))
    this.refuseLeak(JSON.stringify(answer), 'an outcome')
    return answer as Outcome[]
  }

  async #call(batch: readonly Message[], signal: AbortSignal): Promise<unknown> {
    try {
      return await this.sink.deliver(batch, signal)
    } catch (error) {
      throw new ConformanceFault(`deliver threw, in place of an outcome: ${messageOfError(error)}`, {
        cause: error,
      })
    }
  }

  /** Delivers as the queue does: retries in order until each message has a final outcome. */
  async settle(messages: readonly Message[]): Promise<Map<string, Settled>> {
    const settled = new Map<string, Settled>()
    const untilMs = performance.now() + this.#bench.patienceMs
    let waiting = [...messages]
    while (waiting.length > 0) {
      const batch = waiting.slice(0, this.maxBatch)
      const outcomes = await this.deliver(batch)
      let waitMs = 0
      for (const [i, { id }] of batch.entries()) {
        const outcome = outcomes[i] as Outcome
        if (outcome.kind === 'delivered' || outcome.kind === 'rejected') settled.set(id, outcome)
        else waitMs = Math.max(waitMs, outcome.afterMs ?? 20)
      }
      waiting = waiting.filter(({ id }) => !settled.has(id))
      const last = outcomes.find(({ kind }) => kind === 'retry' || kind === 'later')
      expect(
        waiting.length === 0 || performance.now() + waitMs < untilMs,
        () =>
          `${waiting.length} of ${messages.length} messages did not get through; the last answer: ${JSON.stringify(last)}${
            last?.kind === 'later' ? PACED : ''
          }`,
      )
      if (waiting.length > 0) await pause(waitMs)
    }
    return settled
  }

  /** Delivers all, in the end, and sees them arrive in the order of each object. */
  async getThrough(messages: readonly Message[]): Promise<void> {
    const settled = await this.settle(messages)
    const refused = [...settled].find(([, { kind }]) => kind === 'rejected')
    expect(refused === undefined, () => `a usual message was refused: ${JSON.stringify(refused)}`)
    const single = messages.filter(({ id }) => (settled.get(id) as { note?: string }).note !== 'digest')
    const received = await this.#bench.received()
    expectArrived(single, received)
  }

  refuseLeak(text: string, where: string): void {
    const leak = leakIn(text, this.#secrets)
    expect(leak === undefined, `${where} contains a secret of the options: ${leak}`)
  }
}

type Settled = Extract<Outcome, { kind: 'delivered' | 'rejected' }>

/** All are there, and of each object the first arrivals in the order of the messages. */
export function expectArrived(messages: readonly Message[], received: readonly string[]): void {
  const first = new Map<string, number>()
  for (const [i, id] of received.entries()) if (!first.has(id)) first.set(id, i)
  const lost = messages.filter(({ id }) => !first.has(id))
  expect(
    lost.length === 0,
    () => `${lost.length} of ${messages.length} delivered messages did not arrive, such as ${lost[0]?.id}`,
  )
  for (const [uid, ofObject] of Map.groupBy(messages, ({ event }) => event.uid)) {
    const places = ofObject.map(({ id }) => first.get(id) as number)
    const at = places.findIndex((place, i) => i > 0 && place < (places[i - 1] as number))
    expect(
      at === -1,
      () => `${ofObject[at]?.id} arrived before ${ofObject[at - 1]?.id} of the same object ${uid}`,
    )
  }
}

export function expectNoneArrived(messages: readonly Message[], received: readonly string[], when: string) {
  const sent = messages.find(({ id }) => received.includes(id))
  expect(sent === undefined, () => `${sent?.id} was sent ${when}`)
}

/** Returns the value that a schema produces; a refusal is a fault. */
export async function accepted<C>(
  schema: ConfigSchema<C>,
  value: unknown,
  part: string,
  what: string,
): Promise<C> {
  const { issues, value: made } = await validated(schema, value)
  expect(!issues, () => `${part} refuses ${what}: ${issues?.map(({ message }) => message).join('; ')}`)
  return made as C
}

export async function validated<C>(
  schema: ConfigSchema<C>,
  value: unknown,
): Promise<{ value?: C; issues?: readonly SchemaIssue[] | undefined }> {
  return (await schema['~standard'].validate(value)) as { value?: C; issues?: readonly SchemaIssue[] }
}

export function messageOfError(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

const NAMES = /secret|token|passw|api-?key|authorization|credential/i
/** Shorter texts occur by chance. */
const MIN_LENGTH = 5

/** Returns the secrets of a target: those it lists, options with such names, passwords in URLs. */
function secretsOf({ options, secrets = [] }: Target): string[] {
  const found = [...secrets, ...textsUnder(options, false)]
  return [...new Set(found)].filter((it) => it.length >= MIN_LENGTH)
}

function textsUnder(value: unknown, isSecret: boolean): string[] {
  if (typeof value === 'string') return [...(isSecret ? [value] : []), ...passwordsIn(value)]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => textsUnder(inner, isSecret || NAMES.test(key)))
}

function passwordsIn(text: string): string[] {
  if (!/^\w+:\/\//.test(text) || !URL.canParse(text)) return []
  return [new URL(text).password]
}

/** Returns the beginning of a secret that a text contains: whole, cut, or as URLs, JSON and Base64 encode it. */
function leakIn(text: string, secrets: readonly string[]): string | undefined {
  const leak = secrets.find((secret) => formsOf(secret).some((it) => text.includes(it)))
  return leak === undefined ? undefined : `${leak.slice(0, 3)}…`
}

function formsOf(secret: string): string[] {
  const long = [...beginningOf(secret), ...inBase64(secret)].filter((it) => it.length >= MIN_PART)
  return [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), ...long]
}

/** A part of a secret of this length does not occur by chance. */
const MIN_PART = 10

function beginningOf(secret: string): string[] {
  return [secret.slice(0, Math.ceil((secret.length * 2) / 3))]
}

/**
 * Returns the Base64 forms of a secret inside of a longer text, such as `user:secret`, as far as only the secret
 * determines them.
 */
function inBase64(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    const own = text.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3))
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')]
  })
}

/** A peer for a sink under test: a fake server, a file, a stream. Each check starts one of its own. */
export interface Target {
  /** The sink's section of the configuration, without `type`. */
  options: object
  /**
   * The ids of all messages that it got, in the order in which they came: repeats too, and those that it refused or did not
   * answer. `idsIn` finds them in texts.
   */
  received(): readonly string[] | Promise<readonly string[]>
  faults?: Faults
  /**
   * Texts that must not appear in outcomes, logs or metrics, besides options with such names (`secret`, `token` …).
   */
  secrets?: readonly string[]
  /** Forgets received messages, which would look like a leak of the sink. */
  forget?(): void
  stop(): Promise<void> | void
}

/** Faults of the peer; checks that need a missing one are skipped. */
export interface Faults {
  /** It cannot be reached, or turns everything down for now. Echo secrets here if your peer might. */
  refuse?(): Promise<void> | void
  /** The peer accepts data and never responds. */
  hang?(): Promise<void> | void
  /** It turns down, for now, the message with this id, and takes all others. */
  refuseOne?(id: string): Promise<void> | void
  /** Ends all faults; hanging connections may be cut. */
  restore(): Promise<void> | void
}

export interface Setup {
  start(): Promise<Target> | Target
  /** Options of a rule for this sink, as in `to: [{ oncall: … }]`. Default `{}`. */
  route?: object
  /** Parts of the context that the sink is opened with. */
  context?: Partial<SinkContext>
  /** How long a batch may take to get through when nothing is wrong, pacing included. Default 15,000. */
  patienceMs?: number
  /** Checks that this sink need not pass, by name, with why: they are skipped. */
  excused?: Readonly<Record<string, string>>
}

/** A check with a target of its own; throws a fault, or that it is skipped. */
export type CheckBody = (bench: Bench) => Promise<void> | void
