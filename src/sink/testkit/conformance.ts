import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { SinkType } from '../sink.ts'
import { ConformanceFault, expect, Skip, skip } from './assertions.ts'
import {
  accepted,
  Bench,
  type CheckBody,
  messageOfError,
  type OpenedSink,
  type Setup,
  validated,
} from './bench.ts'
import { deliveryChecks, faultChecks } from './checks-delivery.ts'
import { abortChecks, lifeChecks } from './checks-life.ts'
import { messageOf } from './messages.ts'

const DELIVERIES = 2_000
/** One that keeps messages, or only their ids, keeps more of each. */
const MAX_BYTES_EACH = 100
const ROUNDS = 4

const memoryChecks: Readonly<Record<string, CheckBody>> = {
  'two thousand deliveries leave nothing in memory': async (bench) => {
    const collect = collector()
    if (!collect) skip('memory cannot be collected: start Node with --expose-gc')
    if (!bench.target.forget) skip('the target cannot forget what it got')
    const sink = await bench.open()
    await deliverMany(bench, sink, DELIVERIES / 5)
    let before = await usedBytes(collect)
    const growth: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      await deliverMany(bench, sink, DELIVERIES / ROUNDS)
      const now = await usedBytes(collect)
      growth.push(Math.round((now - before) / (DELIVERIES / ROUNDS)))
      before = now
    }
    // A leak grows in every round, noise does not.
    expect(
      Math.min(...growth) <= MAX_BYTES_EACH,
      `memory grew in every round, by ${growth.join(', ')} bytes for each delivery`,
    )
  },
}

let batches = 0

async function deliverMany(bench: Bench, sink: OpenedSink, count: number): Promise<void> {
  const size = Math.min(sink.maxBatch, 100)
  for (let sent = 0; sent < count; sent += size) {
    await sink.deliver(await bench.samples(size, `memory${batches++}x`, { objects: 10 }))
    bench.target.forget?.()
  }
}

async function usedBytes(collect: () => void): Promise<number> {
  collect()
  // Closed sockets are freed a few turns later.
  for (let i = 0; i < 5; i++) await new Promise(setImmediate)
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

function collector(): (() => void) | undefined {
  if (globalThis.gc) return () => void globalThis.gc?.()
  try {
    setFlagsFromString('--expose-gc')
    return runInNewContext('gc') as () => void
  } catch {
    return undefined
  }
}

/** One requirement of the contract. */
export interface Check {
  readonly name: string
  /** Starts a target, runs the check, and stops it. Throws the violation. */
  run(): Promise<CheckResult>
}

export type CheckResult = { kind: 'passed' } | { kind: 'skipped'; why: string }

/** The results of all checks. */
export interface Report {
  passed: string[]
  skipped: { name: string; why: string }[]
  failed: { name: string; error: Error }[]
}

/** All checks of the contract for a sink type, each on its own: one test each in the runner of your choice. */
export function conformance<C, R>(type: SinkType<C, R>, setup: Setup): Check[] {
  return Object.entries(CHECKS).map(([name, body]) => ({
    name,
    async run() {
      const excuse = setup.excused?.[name]
      if (excuse !== undefined) return { kind: 'skipped', why: excuse }
      return runCheck(type as SinkType, setup, body)
    },
  }))
}

/** Runs all checks, one after the other; throws a report of those that failed. */
export async function runConformance<C, R>(type: SinkType<C, R>, setup: Setup): Promise<Report> {
  const report: Report = { passed: [], skipped: [], failed: [] }
  for (const { name, run } of conformance(type, setup)) {
    try {
      const result = await run()
      if (result.kind === 'passed') report.passed.push(name)
      else report.skipped.push({ name, why: result.why })
    } catch (error) {
      report.failed.push({ name, error: error as Error })
    }
  }
  if (report.failed.length > 0) throw new ConformanceFault(describeReport(type.type, report))
  return report
}

/** Returns a readable report: failures and skips with their reasons, and the number of passed checks. */
export function describeReport(type: string, { passed, skipped, failed }: Report): string {
  return [
    `sink type ${type}: ${passed.length} checks passed, ${skipped.length} skipped, ${failed.length} failed`,
    ...failed.map(({ name, error }) => `  failed: ${name}\n          ${error.message}`),
    ...skipped.map(({ name, why }) => `  skipped: ${name} (${why})`),
  ].join('\n')
}

async function runCheck(type: SinkType, setup: Setup, body: CheckBody): Promise<CheckResult> {
  const unhandled: unknown[] = []
  const note = (error: unknown) => void unhandled.push(error)
  process.on('unhandledRejection', note)
  try {
    await using bench = await Bench.start(type, setup)
    await body(bench)
    await bench.target.faults?.restore()
    await bench.finish()
    await new Promise(setImmediate)
  } catch (error) {
    if (error instanceof Skip) return { kind: 'skipped', why: error.message }
    throw error
  } finally {
    process.off('unhandledRejection', note)
  }
  if (unhandled.length > 0)
    throw new ConformanceFault(`a rejection was left unhandled: ${String((unhandled[0] as Error)?.message)}`)
  return { kind: 'passed' }
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/
const RUBBISH: readonly unknown[] = [undefined, null, 42, 'text', true, [], () => 0]

/** The declarations of a sink type. */
const typeChecks: Readonly<Record<string, CheckBody>> = {
  'the type is of this contract'({ type }) {
    expect(type.apiVersion === 1, `apiVersion is ${String(type.apiVersion)}, not 1`)
    expect(
      NAME.test(type.type),
      `type ${JSON.stringify(type.type)} is not a name: letters, digits, ".", "_", "-"`,
    )
    expect(typeof type.open === 'function', 'open is not a function')
    const { maxBatch = 1 } = type
    expect(Number.isInteger(maxBatch) && maxBatch > 0, `maxBatch is ${maxBatch}, not a whole number from 1`)
  },

  'config is a Standard Schema that refuses rubbish'({ type, target }) {
    return refusesRubbish(type.config, 'config', target.options)
  },

  'config refuses keys that it does not know'({ type, target }) {
    return refusesUnknownKey(type.config, 'config', target.options)
  },

  'route is a Standard Schema that accepts {} and refuses rubbish': async (bench) => {
    const { route } = bench.type
    if (!route) skip('the type has no route')
    await accepted(route, {}, 'route', '{}')
    await refusesRubbish(route, 'route', {})
    await refusesUnknownKey(route, 'route', {})
  },

  'the lane of an object stays the same': async (bench) => {
    const { lane } = bench.type
    if (!lane) skip('the type has no lane')
    const config = await accepted(bench.type.config, bench.target.options, 'config', 'the options')
    const route = await bench.route()
    for (const name of ['web', 'api', '<!channel>\u0000\ud800', '']) {
      const parts = { name, uid: `uid-of-${name.length}`, route }
      const lanes = ['ADDED', 'MODIFIED', 'DELETED'].flatMap((type, i) => {
        const message = messageOf({ ...parts, type: type as 'ADDED', version: String(i) }, bench.type)
        return [bench.type.lane?.(message, config), bench.type.lane?.(message, config)]
      })
      expect(
        lanes.every((it) => typeof it === 'string' && it !== '') && new Set(lanes).size === 1,
        () => `deliveries of one object to one target got the lanes ${JSON.stringify([...new Set(lanes)])}`,
      )
    }
  },

  'escape gives text for any text': ({ type: { escape: escaped, plain } }) => {
    if (!escaped) skip('the type has no escape')
    for (const text of ANY_TEXTS) {
      expect(typeof escaped(text) === 'string', 'escape gave no text')
      if (plain) expect(typeof plain(text) === 'string', 'plain gave no text')
    }
    if (plain) expect(plain(escaped(ORDINARY)) === ORDINARY, 'plain changed a text without markup')
  },
}

const ORDINARY = 'Pod shop/web-1: 2 of 3'
const ANY_TEXTS = ['', 'plain', '<&>*_~`|\\[]()#!"\'', '\ud800\u0000\u202e', 'x'.repeat(1_000_000)]

async function refusesRubbish(schema: Bench['type']['config'], part: string, options: object): Promise<void> {
  const standard = schema?.['~standard']
  expect(typeof standard?.validate === 'function', `${part} is not a Standard Schema: it has no "~standard"`)
  expect(
    standard.version === 1,
    `${part} is of version ${String(standard.version)} of Standard Schema, not 1`,
  )
  for (const value of RUBBISH) {
    const { issues } = await validatedSafely(schema, part, value)
    const isNothing = value === undefined || value === null
    expect(
      isNothing || (issues?.length ?? 0) > 0,
      `${part} accepts ${String(JSON.stringify(value) ?? value)}`,
    )
  }
  const keys = Object.keys(options)
  for (const key of keys) {
    const { issues } = await validatedSafely(schema, part, { ...options, [key]: () => 0 })
    if (!issues) continue
    const steps = issues.map(({ path = [] }) => (typeof path[0] === 'object' ? path[0].key : path[0]))
    expect(
      steps.includes(key),
      `${part} refuses a wrong "${key}" with an issue whose path does not lead to it`,
    )
  }
}

async function refusesUnknownKey(
  schema: Bench['type']['config'],
  part: string,
  options: object,
): Promise<void> {
  const { issues } = await validatedSafely(schema, part, { ...options, noSuchOptionOfAnySink: 1 })
  expect(
    (issues?.length ?? 0) > 0,
    `${part} accepts a key that it cannot know: a misspelt option would do nothing`,
  )
}

async function validatedSafely(schema: Bench['type']['config'], part: string, value: unknown) {
  const result = await validated(schema, value).catch((error: unknown) => {
    expect(false, `${part} threw in place of giving issues: ${messageOfError(error)}`)
  })
  for (const { message } of result?.issues ?? [])
    expect(typeof message === 'string' && message !== '', `${part} gave an issue without a message`)
  return result
}

const CHECKS: Readonly<Record<string, CheckBody>> = {
  ...typeChecks,
  ...deliveryChecks,
  ...faultChecks,
  ...abortChecks,
  ...lifeChecks,
  ...memoryChecks,
}
