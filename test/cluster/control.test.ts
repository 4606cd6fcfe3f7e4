import { expect, test } from 'vitest'
import { waitFor } from '../wait-for.ts'
import { mountConfigMap } from './config-map.ts'
import {
  ALICE,
  applies,
  type Change,
  holderAndOther,
  outOfOrder,
  startControlBed,
  textOf,
} from './control-bed.ts'
import type { Kubeherald } from './kubeherald.ts'

/** Polls parse all that came. */
const everyMs = 100

const textsOf = (some: readonly { text: string }[]) => [...new Set(some.map(({ text }) => text))].toSorted()
const missingOf = (texts: readonly string[], ...sinks: (readonly { text: string }[])[]) =>
  sinks.map((got) => [...new Set(texts).difference(new Set(textsOf(got)))])
const shown = (changes: readonly Change[]) => changes.map(textOf).toSorted()

const RULES = `
  - { name: plain, when: { name: "*-plain-*" }, to: [hook, oncall] }
  - { name: states, when: { name: "*-state-*", labels: broken=yes }, resolve: true, to: [hook, oncall] }`

test('acceptance 3: silences stop exactly what they match, on each of two replicas, through their hand-over and after a downtime', async () => {
  await using bed = await startControlBed()
  const { made, change } = bed
  const both = [await bed.start(RULES), await bed.start(RULES)] as const
  const hook = () => textsOf(bed.webhookGot())
  const oncall = () => textsOf(bed.slackGot('#oncall'))
  const bothGot = (texts: readonly string[]) => {
    const missing = () => missingOf(texts, bed.webhookGot(), bed.slackGot('#oncall'))
    return waitFor(() => missing().every((some) => some.length === 0), {
      everyMs,
      what: () =>
        `what the webhook and Slack miss: ${JSON.stringify(missing())}; ${both.map((it) => it.log().slice(-1_000))}`,
    })
  }
  const broken = { broken: 'yes' }
  const begun = [await change('quiet-state-1', broken), await change('quiet-state-2', broken)]
  await bothGot(shown(begun))
  const [a, b] = await holderAndOther(both)

  const quiet = await addSilence(b, 'name=quiet-*')
  const half = await addSilence(b, 'name=half-*, sink=oncall')
  await applies(2, [a, b])
  const before = made.length
  const load = bed.keepChanging([
    'quiet-plain-1',
    'loud-plain-1',
    'quiet-plain-2',
    'half-plain-1',
    'loud-plain-2',
  ])
  const madeOf = (prefix: string) => made.slice(before).filter(({ name }) => name.startsWith(prefix))
  /** Waits until all changes of now and some later ones were sent or suppressed. */
  const keepsUp = async (process: Kubeherald) => {
    const count = made.length + 10
    await waitFor(() => made.length >= count, { what: 'changes' })
    const [silenced, loud] = [madeOf('quiet-plain').length, shown(madeOf('loud'))]
    const isDone = async () => (await suppressedBy(process, 'plain', 'silence')) >= silenced
    await Promise.all([bothGot(loud), waitFor(isDone, { what: `${silenced} silenced` })])
  }
  /** Ends the incident of an object. */
  const heal = async (name: string) => {
    const end = await change(name)
    await bothGot([`resolved ${name}@${end.resourceVersion}`])
    return end
  }
  await keepsUp(a)
  const healed = [await heal('quiet-state-1')]
  await a.kill()
  await keepsUp(b)
  healed.push(await heal('quiet-state-2'))
  await b.kill()
  const down = made.length
  await waitFor(() => made.length >= down + 10, { what: 'changes while nothing runs' })
  await a.start()
  await keepsUp(a)
  await load.stop()
  const silenced = madeOf('quiet-plain')
  const halved = madeOf('half')
  for (const { id } of [quiet, half])
    expect(await a.command('silence', 'expire', id)).toMatchObject({ code: 0 })
  await applies(0, [a])
  await bothGot(shown([await change('quiet-plain-1'), await change('half-plain-1')]))
  await a.settled()

  const notices = healed.map(({ name, resourceVersion }) => `resolved ${name}@${resourceVersion}`)
  const sent = made.filter((it) => !silenced.includes(it) && !healed.includes(it))
  expect(hook()).toEqual([...shown(sent), ...notices].toSorted())
  expect(oncall()).toEqual([...shown(sent.filter((it) => !halved.includes(it))), ...notices].toSorted())
  expect([...outOfOrder(bed.webhookGot()), ...outOfOrder(bed.slackGot('#oncall'))]).toEqual([])
  const { ledger } = JSON.parse((await a.command('status', '-o', 'json', '--verify')).stdout)
  expect(ledger).toMatchObject({ balanced: true, verified: true })
  const matched = made.length - begun.length - healed.length
  expect(ledger.rules).toMatchObject({
    plain: { matched, sent: matched - silenced.length, suppressed: { silence: silenced.length } },
    states: { matched: 2, sent: 2, notices: 2 },
  })
  const all = sent.length + notices.length
  expect(ledger.sinks).toMatchObject({
    hook: { enqueued: all, dead: 0 },
    oncall: { enqueued: all - halved.length, dead: 0 },
  })
  const counts = jsonLines(await a.command('silence', 'list', '--ended', '-o', 'json'))
  expect(Object.fromEntries(counts.map(({ id, suppressed }) => [id, suppressed]))).toEqual({
    [quiet.id]: silenced.length,
    [half.id]: halved.length,
  })
  console.log(`${made.length} changes, ${silenced.length} of them silenced`)
})

/** `repeats` sends each change, `escalation` each third one. */
const incidentRules = (after: string) => `
  - { name: repeats, when: { name: "crash-*" }, resolve: { after: ${after} }, to: [hook, oncall] }
  - { name: escalation, when: { name: "crash-*" }, after: { count: 3, within: 1h }, resolve: { after: ${after} }, to: [pager, managers] }`

test('acceptance 3: an acknowledged incident neither repeats nor escalates on any replica until it ends; the next one does', async () => {
  await using bed = await startControlBed()
  const { made, change, slack } = bed
  const both = [await bed.start(incidentRules('1h')), await bed.start(incidentRules('1h'))] as const
  await waitFor(() => slack.clicks.connections === 2, { what: 'both to hear of clicks' })
  const objects = ['crash-1', 'crash-2', 'crash-3']
  const got = () => ({
    hook: bed.webhookGot(),
    pager: bed.webhookGot('/hook/pager'),
    oncall: bed.slackGot('#oncall'),
    managers: bed.slackGot('#managers'),
  })
  /** How many different notifications each sink got of an object. */
  const counts = (name: string, isOf = (text: string) => !text.startsWith('resolved')) =>
    Object.values(got()).map(
      (all) => textsOf(all).filter((text) => text.includes(` ${name}@`) && isOf(text)).length,
    )
  const atLeast = (name: string, least: readonly number[], what: string) =>
    waitFor(() => counts(name).every((count, i) => count >= (least[i] as number)), {
      everyMs,
      what: () => `${what}: ${least} notifications of ${name}, not ${counts(name)}`,
    })
  const load = bed.keepChanging(objects)
  await Promise.all(objects.map((it) => atLeast(it, [3, 1, 3, 1], 'the incidents')))
  await load.stop()
  const [a, b] = await holderAndOther(both)
  await a.settled()

  for (const rule of ['repeats', 'escalation'])
    expect(
      await b.command('incidents', 'acknowledge', '--rule', rule, 'configmap/default/crash-1', '--by', 'bob'),
    ).toMatchObject({ code: 0 })
  for (const channel of ['oncall', 'managers']) {
    const isRoot = (it: (typeof slack.messages)[number]) =>
      it.channel === channel && it.threadTs === undefined
    const root = slack.messages.find((it) => isRoot(it) && it.text.includes('crash-2'))
    if (!root) throw new Error(`no message about crash-2 in ${channel}`)
    const replies = slack.repliesTo(root.ts).length
    await slack.clicks.click(root, 'Acknowledge')
    await waitFor(() => slack.repliesTo(root.ts).length > replies, { what: `the answer in ${channel}` })
  }
  const incidents = async () => jsonLines(await b.command('incidents', 'list', '-o', 'json'))
  const acknowledgedBy = (await incidents()).map(({ rule, object, acknowledged }) => [
    rule,
    object.split('/')[1],
    acknowledged?.by,
  ])
  const alice = `slack:${ALICE} (alice)`
  expect(acknowledgedBy.toSorted()).toEqual([
    ['escalation', 'crash-1', 'cli:bob'],
    ['escalation', 'crash-2', alice],
    ['escalation', 'crash-3', undefined],
    ['repeats', 'crash-1', 'cli:bob'],
    ['repeats', 'crash-2', alice],
    ['repeats', 'crash-3', undefined],
  ])

  const before = { made: made.length, one: counts('crash-1'), two: counts('crash-2') }
  const repeatsOfThree = (what: string) => {
    const [hook, pager, oncall, managers] = counts('crash-3') as [number, number, number, number]
    return atLeast('crash-3', [hook + 6, pager + 2, oncall + 6, managers + 2], what)
  }
  const more = bed.keepChanging(objects)
  await repeatsOfThree('while the first one watches')
  await a.kill()
  await repeatsOfThree('after the hand-over')
  await more.stop()
  await b.settled()
  expect({ one: counts('crash-1'), two: counts('crash-2') }).toEqual({ one: before.one, two: before.two })
  const acknowledged = made.slice(before.made).filter(({ name }) => name !== 'crash-3').length
  for (const rule of ['repeats', 'escalation'])
    expect(await suppressedBy(b, rule, 'acknowledged')).toBe(acknowledged)

  // The incidents end when they are next looked at: their time without an event has passed by then.
  await mountConfigMap(b).reload(bed.config(incidentRules('1s')))
  const lastMs = Date.now()
  await waitFor(() => Date.now() > lastMs + 1_500, { what: 'the incidents to be over' })
  for (let i = 0; i < 3; i++) for (const name of objects) await change(name)
  for (const [name, [hook, pager, oncall, managers]] of [
    ['crash-1', before.one],
    ['crash-2', before.two],
  ] as [string, [number, number, number, number]][]) {
    await atLeast(name, [hook + 3, pager + 1, oncall + 3, managers + 1], 'the next incident')
    expect(counts(name)).toEqual([hook + 3, pager + 1, oncall + 3, managers + 1])
  }
  await waitFor(async () => (await incidents()).length === 0, { everyMs, what: 'the end of all incidents' })
  const { balanced } = await b.settled()
  expect(balanced).toBe(true)
  expect(Object.values(got()).flatMap(outOfOrder)).toEqual([])
  const isNotice = (text: string) => text.startsWith('resolved')
  for (const name of objects) for (const count of counts(name, isNotice)) expect(count).toBeGreaterThan(0)
  expect(slack.clicks.faults).toEqual([])
})

test('acceptance 3: a replay sends what was delivered once more, marked and with its id, while live events stay in order', async () => {
  await using bed = await startControlBed()
  const { made, hook, slack } = bed
  const rules = '[{ name: all, when: { name: "web-*" }, to: [hook, oncall] }]'
  const kubeherald = await bed.start(rules)
  const objects = ['web-1', 'web-2', 'web-3', 'web-4']
  const arrived = async () => {
    const expected = shown(made)
    await waitFor(() => missingOf(expected, bed.webhookGot()).flat().length === 0, {
      everyMs,
      what: 'all changes',
    })
    return expected
  }
  const first = bed.keepChanging(objects)
  await waitFor(() => made.length >= 40, { what: '40 changes' })
  await first.stop()
  await arrived()
  await kubeherald.settled()
  const delivered = hook.requests.map(({ body }) => JSON.parse(body))
  const posted = () => bed.slackGot('#oncall').length

  const live = bed.keepChanging(objects)
  const replay = await kubeherald.command('replay', '--sink', 'hook', '--since', '1h', '-o', 'json')
  expect(replay).toMatchObject({ code: 0 })
  const during = made.length
  await waitFor(() => made.length >= during + 10, { what: 'changes after the replay' })
  await live.stop()
  const happened = await arrived()
  const ledger = await kubeherald.settled()

  const bodies = hook.requests.map(({ body }) => JSON.parse(body))
  const replayed = bodies.filter((it) => it.replayed)
  const { sent, notInJournal } = JSON.parse(replay.stdout)
  expect(notInJournal).toBe(0)
  expect(replayed).toHaveLength(sent)
  expect(new Set(replayed.map(({ id }) => id)).size).toBe(sent)
  const again = new Map(replayed.map(({ replayed: _, ...event }) => [event.id, event]))
  expect(delivered.filter(({ id }) => !again.has(id))).toEqual([])
  for (const event of bodies)
    if (!event.replayed && again.has(event.id)) expect(again.get(event.id)).toEqual(event)
  expect(outOfOrder(bed.webhookGot())).toEqual([])
  expect(textsOf(bed.webhookGot())).toEqual(happened)
  expect(ledger).toMatchObject({ balanced: true, sinks: { hook: { enqueued: made.length + sent, dead: 0 } } })
  expect(posted()).toBe(made.length)
  expect(slack.clicks.faults).toEqual([])
  console.log(`${sent} events were sent again, while ${made.length - delivered.length} happened`)
})

async function addSilence(process: Kubeherald, match: string): Promise<{ id: string }> {
  const args = ['silence', 'add', '--match', match, '--for', '1h', '--reason', 'deploy', '-o', 'json']
  const { code, stdout, stderr } = await process.command(...args)
  expect({ code, stderr }).toMatchObject({ code: 0 })
  return JSON.parse(stdout)
}

async function suppressedBy(process: Kubeherald, rule: string, limit: string): Promise<number> {
  return (await process.status()).ledger.rules[rule]?.suppressed[limit] ?? 0
}

function jsonLines({ stdout }: { stdout: string }): any[] {
  return stdout
    .split('\n')
    .filter((it) => it !== '')
    .map((it) => JSON.parse(it))
}
