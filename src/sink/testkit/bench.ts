import { setTimeout as pause } from 'node:timers/promises'
import type { Message } from '../message.ts'
import type { Outcome } from '../outcome.ts'
import type { ConfigSchema, SchemaIssue, Sink, SinkType } from '../sink.ts'
import { type TestContext, testContext } from './context.ts'
import { ConformanceFault, expect, skip } from './fault.ts'
import { type SampleOptions, sampleMessages } from './messages.ts'
import { faultsOfAnswer } from './outcomes.ts'
import { leakIn, secretsOf } from './secrets.ts'
import type { Faults, Setup, Target } from './target.ts'
import { within } from './waiting.ts'

const NEVER = new AbortController().signal
/** What a call may take that is not the subject of its check. */
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

  /** Makes something go wrong, or ends the check as skipped where the target cannot. */
  async fault(name: 'refuse' | 'hang'): Promise<Faults> {
    const faults = this.target.faults
    if (!faults?.[name]) skip(`the target has no fault "${name}"`)
    await faults[name]()
    return faults
  }

  async received(): Promise<readonly string[]> {
    return this.target.received()
  }

  /** Closes what a check left open, and looks whether anything told a secret. */
  async finish(): Promise<void> {
    for (const opened of this.#opened) {
      await within(CALL_LIMIT_MS, opened.sink.close(), 'close')
      opened.refuseLeak(opened.context.told(), 'a log line or metric')
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.target.faults?.restore()
    // A sink that does not close was told already.
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

  /** One call. What deliver throws is a fault. */
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

  /** Delivers as the queue does: again and again what was put off, in order, until each has its end. */
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
    const told = messages.filter(({ id }) => (settled.get(id) as { note?: string }).note !== 'digest')
    const received = await this.#bench.received()
    expectArrived(told, received)
  }

  refuseLeak(text: string, where: string): void {
    const leak = leakIn(text, this.#secrets)
    expect(leak === undefined, `${where} tells a secret of the options: ${leak}`)
  }
}

export type Settled = Extract<Outcome, { kind: 'delivered' | 'rejected' }>

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

/** What a schema makes of a value; that it refuses it is a fault. */
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
