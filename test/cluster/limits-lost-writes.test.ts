import { expect, test } from 'vitest'
import { waitFor } from '../wait-for.ts'
import { startBed } from './bed.ts'
import { CONFIG_MAPS } from './workload.ts'

/** As a replica that lacks the last writes does it when it becomes the master. */
test('what limits kept is lost with the position: it comes again, nothing of it waits for ever, and the ledger balances', async () => {
  await using bed = await startBed({
    sinks: ({ url }) => `{ hook: { type: webhook, url: "${url}" } }`,
    rules: `
  - { name: lasting, when: { labels: "state=bad" }, for: 2s, resolve: true, to: hook }
  - { name: grouped, when: { name: "group-*" }, group: { by: rule, wait: 1h, max: 3 }, to: hook }
  - { name: after, when: { name: "after-*" }, after: { count: 2, within: 1h, per: rule }, to: hook }`,
  })
  const put = (name: string, state = 'good') =>
    bed.kubernetes.request('POST', CONFIG_MAPS, { metadata: { name, labels: { state } } })
  const told = () =>
    new Set(
      bed.hook.requests
        .map(({ body }) => JSON.parse(body))
        .map(({ name, data }) => `${data.rule} ${data.digest?.count ?? name}${data.resolved ? ' over' : ''}`),
    )
  const ledger = async () => (await bed.kubeherald.status()).ledger
  const matched = (count: number) =>
    waitFor(
      async () => {
        const rules = Object.values((await ledger()).rules) as { matched: number }[]
        return rules.reduce((sum, rule) => sum + rule.matched, 0) === count
      },
      { what: `${count} matches` },
    )
  await Promise.all([put('before', 'bad'), put('group-1'), put('after-1')])
  await matched(3)
  const copy = await bed.redis.copy()
  // All of this is forgotten: an object in trouble, the end of another's, one more of a group, and what makes up the number.
  await Promise.all([put('forgotten', 'bad'), put('group-2'), put('after-2')])
  await bed.kubernetes.request('PATCH', `${CONFIG_MAPS}/before`, { metadata: { labels: { state: 'good' } } })
  await matched(6)
  await bed.redis.kill()
  await bed.redis.restore(copy)
  await bed.redis.restart()
  // The next position finds that it went back.
  await put('group-3')

  const settled = async () => {
    const it = await ledger()
    const rules = Object.values(it.rules) as { matched: number; waiting: number }[]
    const all = rules.reduce((sum, { matched }) => sum + matched, 0) === 7
    return all && rules.every(({ waiting }) => waiting === 0) && it.sinks.hook.pending === 0 ? it : undefined
  }
  const last = await waitFor(settled, {
    timeoutMs: 60_000,
    what: () => `all to be told; it was ${[...told()]}`,
  })
  expect(last).toMatchObject({
    balanced: true,
    verified: true,
    rules: {
      lasting: { matched: 2 },
      grouped: { matched: 3, digested: 3, notices: 1 },
      after: { matched: 2, sent: 1, suppressed: { after: 1 } },
    },
  })
  expect([...told()]).toEqual(expect.arrayContaining(['after after-2', 'grouped 3', 'lasting forgotten']))
})
