import { expect, test } from 'vitest'
import { startReceiver } from '../servers/receiver.ts'
import { waitFor } from '../wait-for.ts'
import { startBed } from './bed.ts'
import { arrivalOf, differences, exactly } from './compare.ts'
import { CONFIG_MAPS, manifest } from './workload.ts'

const OUTAGE_MS = Number(process.env['OUTAGE_SECONDS'] ?? 10) * 1_000

test('acceptance 5: one webhook fails and then hangs, the other never notices; a refused event is a dead letter until it is retried', async () => {
  await using good = await startReceiver()
  await using bed = await startBed({
    sinks: (hook) =>
      `{ bad: { type: webhook, url: "${hook.url}" }, good: { type: webhook, url: "${good.url}" } }`,
    rules: '[{ name: all, when: { namespace: default }, to: [bad, good] }]',
  })
  const { kubernetes, kubeherald, hook: bad } = bed
  const written = new Map<string, number>()
  let writing = true
  const writer = (async () => {
    for (let i = 0; writing; i++) {
      const name = `object-${i % 20}`
      const method = i < 20 ? 'POST' : 'PATCH'
      const path = i < 20 ? CONFIG_MAPS : `${CONFIG_MAPS}/${name}`
      const answer: any = await kubernetes.request(method, path, manifest(CONFIG_MAPS, name, i))
      written.set(`${name}@${answer.metadata.resourceVersion}`, performance.now())
      await new Promise((resolve) => setTimeout(resolve, 60))
    }
  })()

  bad.answer(() => ({ status: 503 }))
  await outage(() => written.size)
  bad.answer(() => ({ hang: true }))
  await outage(() => written.size)
  // Refuses one certain object for good, takes the others.
  bad.answer(({ body }) =>
    JSON.parse(body).name === 'object-7' ? { status: 422, body: 'no sevens' } : { status: 200 },
  )
  await outage(() => written.size, 3_000)
  writing = false
  await writer

  const history = await bed.history()
  await waitFor(() => good.requests.length >= history.length, {
    timeoutMs: 30_000,
    what: 'the good webhook to have all',
  })
  expect(
    differences(
      history,
      good.requests.map(({ body }) => arrivalOf(body)),
    ),
  ).toEqual(exactly())

  const accepted = () =>
    bad.requests.filter(({ status }) => status === 200).map(({ body }) => arrivalOf(body))
  const sevens = history.filter(({ key }) => key.endsWith('/object-7'))
  const others = history.filter(({ key }) => !key.endsWith('/object-7'))
  await waitFor(() => differences(others, accepted()).missing.length === 0, {
    timeoutMs: 60_000,
    what: 'the mended webhook to catch up',
  })
  expect(differences(others, accepted()).outOfOrder).toEqual([])
  await waitFor(async () => (await kubeherald.status()).ledger.sinks.bad.pending === 0, {
    timeoutMs: 60_000,
    what: 'an empty lane',
  })

  const listed = await kubeherald.command('dead-letters', 'list', '--json', '--limit', '100000')
  const letters = listed.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(letters).toHaveLength(sevens.length)
  const shown = await kubeherald.command('dead-letters', 'show', letters[0].id)
  expect(shown.stdout).toContain('422')
  expect(shown.stdout).toContain('no sevens')

  bad.answer(() => ({ status: 200 }))
  expect((await kubeherald.command('dead-letters', 'retry', '--all')).code).toBe(0)
  await waitFor(() => differences(history, accepted()).missing.length === 0, {
    timeoutMs: 30_000,
    what: 'the dead letters to arrive',
  })
  const ledger = await kubeherald.settled()
  expect(ledger.balanced).toBe(true)
  expect(ledger.sinks.bad).toMatchObject({
    enqueued: history.length,
    delivered: history.length,
    dead: 0,
    pending: 0,
  })

  // How long the good webhook waited for a change while the bad one failed.
  const delays = good.requests.flatMap(({ body, atMs }) => {
    const event = JSON.parse(body)
    return [atMs - Date.parse(event.time)]
  })
  const p99 = delays.sort((a, b) => a - b)[Math.floor(delays.length * 0.99)] ?? 0
  console.log(`good webhook beside the failing one: p99 ${p99.toFixed(1)} ms over ${delays.length} changes`)
})

/** Lets an outage last; the writer goes on meanwhile. */
async function outage(written: () => number, ms = OUTAGE_MS): Promise<void> {
  const until = Date.now() + ms
  const before = written()
  await waitFor(() => Date.now() >= until && written() > before, {
    timeoutMs: ms + 30_000,
    what: 'the outage to pass',
  })
}
