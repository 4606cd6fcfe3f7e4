import type { SlackRoute } from '../../sinks/slack/config.ts'
import slack from '../../sinks/slack/index.ts'
import type { Sent } from '../../src/app/dry-run/dry-run.ts'
import { findTests } from '../../src/cli/dry-run/test-files.ts'
import { readDryConfiguration } from '../../src/cli/load-config/configuration.ts'
import type { Message } from '../../src/sink/index.ts'
import { sentInTest } from '../../test/docs/rendered.ts'
import { startSlack } from '../../test/servers/slack.ts'
import { openSink } from '../../test/sinks/bed.ts'
import type { Body } from './cards.ts'
import type { SlackMessage } from './slack.ts'

interface Posted extends SlackMessage {
  ts: string
  /** The `ts` of the message that it is a reply to. */
  threadTs: string | undefined
}

/** What the sinks of messages.yaml send in one of its tests. */
export interface Payloads {
  /** The messages in the channel at the end. */
  slack: Posted[]
  /** The first one, as it was before others followed. */
  firstInSlack: Posted[]
  teams: Body[]
}

/** Runs the tests of messages.yaml through its rules and sinks. Returns what is sent, by the test's name. */
export async function payloads(): Promise<Record<string, Payloads>> {
  const configuration = await readDryConfiguration(new URL('messages.yaml', import.meta.url).pathname)
  const { cases, problems } = findTests([], configuration)
  if (problems[0]) throw new Error(problems[0].message)
  const result: Record<string, Payloads> = {}
  for (const test of cases) {
    const { run, sent } = await sentInTest(test, configuration)
    const [forSlack, forTeams] = ['slack', 'teams'].map((sink) =>
      sent.filter((it) => it.delivery.sink === sink),
    )
    const teams = (forTeams ?? []).map(({ message, atMs }) => {
      const { body = '' } = run.snapshot.choices.preview(message, 'teams')
      return { body: JSON.parse(body), sentMs: atMs }
    })
    const firstInSlack = await postedTo(forSlack?.slice(0, 1) ?? [])
    result[test.name] = { slack: await postedTo(forSlack ?? []), firstInSlack, teams }
  }
  return result
}

/** Posts to a fake of Slack: threads and rewritten messages are those of the sink. */
async function postedTo(sent: readonly Sent[]): Promise<Posted[]> {
  await using fake = await startSlack({ perSecond: 1_000, burst: 1_000 })
  fake.channel('oncall')
  const options = { token: fake.token, channel: '#oncall', apiUrl: fake.apiUrl, rate: 50 }
  const sink = await openSink(slack, options, { name: 'slack' })
  const postedMs: number[] = []
  for (const { message, atMs } of sent) {
    const [outcome] = await sink.deliver([message as Message<SlackRoute>], new AbortController().signal)
    if (outcome?.kind !== 'delivered') throw new Error(JSON.stringify(outcome))
    while (postedMs.length < fake.messages.length) postedMs.push(atMs)
  }
  await sink.close()
  return fake.messages.map(({ text, attachments, ts, threadTs }, i) => ({
    message: { text, attachments },
    ts,
    threadTs,
    postedMs: postedMs[i] ?? 0,
  }))
}
