import { expect, test } from 'vitest'
import { waitFor } from '../wait-for.ts'
import { startBed } from './bed.ts'
import { CONFIG_MAPS, manifest } from './workload.ts'

test('a glob of namespaces takes in those that exist and those that come later, and no others', async () => {
  await using bed = await startBed({
    watch: '[{ kind: ConfigMap, namespaces: ["team-*", "!team-b"] }]',
    rules: '[{ name: all, when: { name: thing }, to: [hook] }]',
  })
  const { kubernetes, hook } = bed
  for (const name of ['team-a', 'team-b', 'other']) {
    await kubernetes.request('POST', '/api/v1/namespaces', { metadata: { name } })
    await kubernetes.request(
      'POST',
      `/api/v1/namespaces/${name}/configmaps`,
      manifest(CONFIG_MAPS, 'thing', 0),
    )
  }
  await kubernetes.request('POST', '/api/v1/namespaces', { metadata: { name: 'team-z' } })
  await kubernetes.request('POST', '/api/v1/namespaces/team-z/configmaps', manifest(CONFIG_MAPS, 'thing', 0))
  await waitFor(() => hook.requests.length >= 2, { what: 'two changes' })
  expect(hook.requests.map(({ body }) => JSON.parse(body).namespace).toSorted()).toEqual(['team-a', 'team-z'])
})

test('case 21: selectors are the server’s work: objects that leave a label selector are DELETED, and come back as ADDED', async () => {
  await using bed = await startBed({
    watch: '[{ kind: ConfigMap, namespaces: default, labels: "tier in (gold)" }]',
  })
  const { kubernetes, hook } = bed
  const label = (tier: string) => ({ metadata: { labels: { tier } } })
  await kubernetes.request('POST', CONFIG_MAPS, { metadata: { name: 'a', labels: { tier: 'gold' } } })
  await kubernetes.request('POST', CONFIG_MAPS, { metadata: { name: 'b', labels: { tier: 'tin' } } })
  await kubernetes.request('PATCH', `${CONFIG_MAPS}/a`, label('tin'))
  await kubernetes.request('PATCH', `${CONFIG_MAPS}/a`, label('gold'))
  await waitFor(() => hook.requests.length >= 3, { what: 'three changes' })
  expect(bed.arrivals().map(({ type, key }) => `${type} ${key}`)).toEqual([
    'ADDED configmaps/default/a',
    'DELETED configmaps/default/a',
    'ADDED configmaps/default/a',
  ])
})

test('values of Secrets never reach a sink, nor Redis', async () => {
  await using bed = await startBed({ watch: '[{ kind: Secret, namespaces: default }]' })
  const { kubernetes, hook, redis } = bed
  await kubernetes.request('POST', '/api/v1/namespaces/default/secrets', {
    metadata: { name: 's' },
    stringData: { password: 'hunter2-hunter2' },
  })
  await waitFor(() => hook.requests.length >= 1, { what: 'the Secret' })
  const body = hook.requests[0]?.body ?? ''
  expect(body).not.toContain(Buffer.from('hunter2-hunter2').toString('base64'))
  expect(JSON.parse(body).data.object.data.password).toMatch(/^sha256:/)
  expect(String(await redis.command('KEYS', '*'))).not.toContain('hunter2')
})
