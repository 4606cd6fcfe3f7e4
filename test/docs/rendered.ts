import { messageText } from '../../sinks/stdout/index.ts'
import { createDryRun, type DryRun, type Sent } from '../../src/app/dry-run/dry-run.ts'
import { causesOf, heartbeatOf } from '../../src/app/notify/causes.ts'
import { ownDelivery } from '../../src/app/notify/own-event.ts'
import { recoveryOf } from '../../src/app/notify/recoveries.ts'
import { runTest } from '../../src/cli/dry-run/run-test.ts'
import { findTests, type TestCase } from '../../src/cli/dry-run/test-files.ts'
import { type DryConfiguration, readDryConfiguration } from '../../src/cli/load-config/configuration.ts'
import type { WatchStatus } from '../../src/model/status.ts'

/**
 * Returns what the sinks get in the tests of a configuration, and of `notify`: for each message the sink with its target, the text as chats show
 * it, and the body if the sink sends one, as indented JSON.
 */
export async function renderedMessages(file: string): Promise<string> {
  const configuration = await readDryConfiguration(file)
  const texts: string[] = []
  for (const test of findTests([], configuration).cases) {
    const { run, sent } = await sentInTest(test, configuration)
    texts.push(...sent.map((it) => textOf(run, it)))
  }
  texts.push(...(await ownReports(configuration)))
  return texts.join('\n')
}

/** What `notify` would send: the first sink fails, works again after twelve minutes, and a heartbeat. */
async function ownReports(configuration: DryConfiguration): Promise<string[]> {
  const { notify, sinks, cluster = '' } = configuration.config
  if (!notify) return []
  const run = await createDryRun(configuration)
  const nowMs = Date.parse('2026-01-05T12:00:00Z')
  const sink = sinks.find(({ name }) => name !== notify.to)?.name ?? ''
  const state = {
    watches: [WATCH],
    metadata: [],
    sinks: [
      { sink, healthy: false, quarantined: 0, failingTargets: 0, lastError: 'the receiver answered 503' },
    ],
    config: { appliedMs: 0 },
    newDeadLetters: new Map(),
    isLedgerBalanced: true,
  }
  const recovery = recoveryOf({ on: 'sink-failing', subject: sink }, nowMs - 720_000, nowMs)
  const reports = [...causesOf(state, notify.to), recovery].map((it) => [it, notify.to] as const)
  const beat = heartbeatOf(state)
  const all = beat ? [...reports, [beat, notify.heartbeat?.to ?? notify.to] as const] : reports
  return all.map(([report, to]) => {
    const delivery = ownDelivery(report, { sink: to, cluster, namespace: 'kubeherald', nowMs })
    return textOf(run, { atMs: nowMs, delivery, message: run.snapshot.choices.render(delivery, 0) })
  })
}

const WATCH: WatchStatus = {
  ...{ key: 'events', title: 'events', phase: 'watching', resourceVersion: '1' },
  ...{ lastContactMs: 0, aliveUntilMs: 0, ready: true },
}

/** Runs a test of a configuration. Returns its run and all that is sent. Throws if an expectation is not met. */
export async function sentInTest(
  test: TestCase,
  configuration: DryConfiguration,
): Promise<{ run: DryRun; sent: Sent[] }> {
  const run = await createDryRun(configuration)
  const sent: Sent[] = []
  const { problems, mismatches } = await runTest(test, {
    createRun: async () => recording(run, sent),
    cluster: configuration.config.cluster ?? 'kubernetes',
    readFile: (name) => ({ fault: `${name} is not read` }),
  })
  if (problems.length > 0) throw new Error(problems[0]?.message)
  if (mismatches.length > 0) throw new Error(`${test.name}: ${JSON.stringify(mismatches[0])}`)
  return { run, sent }
}

/** The run, which also adds what it sends. */
function recording(run: DryRun, sent: Sent[]): DryRun {
  return {
    ...run,
    evaluate(event, atMs) {
      const result = run.evaluate(event, atMs)
      sent.push(...result.sent)
      return result
    },
    advance(toMs) {
      const timers = run.advance(toMs)
      sent.push(...timers.flatMap((it) => it.sent))
      return timers
    },
  }
}

function textOf({ snapshot }: DryRun, { delivery, message }: Sent): string {
  const { target = '', body = '' } = snapshot.choices.preview(message, delivery.sink)
  // What keeps characters apart is invisible in chats.
  return `→ ${delivery.sink} ${target}\n${messageText(message)}${indented(body)}`.replaceAll('\u200b', '')
}

function indented(body: string): string {
  return body
    .trimEnd()
    .split('\n')
    .map((line) =>
      line.startsWith('{') || line.startsWith('[') ? JSON.stringify(JSON.parse(line), undefined, 1) : line,
    )
    .join('\n')
}
