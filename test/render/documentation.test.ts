import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createContents } from '../../src/render/message.ts'
import { FILTERS } from '../../src/sink/template/filters.ts'
import { NAMES } from '../../src/sink/template/view.ts'
import { loadText } from '../config/load-text.ts'
import { messageOf } from '../sinks/bed.ts'

const PAGE = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8')
const SECTION = PAGE.slice(PAGE.indexOf('## Messages'), PAGE.indexOf('## Environment'))
const EXAMPLES = [...SECTION.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, yaml = '']) => yaml)

async function contentOf(example: string, parts: Parameters<typeof messageOf>[0]) {
  const loaded = await loadText(example)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const code = (text: string) => `\`${text}\``
  return createContents(loaded.config, () => ({ code }))(messageOf(parts), 'screen')
}

const DEPLOYMENT = {
  metadata: {
    labels: { team: 'pay', 'app.kubernetes.io/name': 'web' },
    ownerReferences: [{ kind: 'App', name: 'shop', controller: true }],
    creationTimestamp: new Date(Date.now() - 3 * 86_400_000 - 60_000).toISOString(),
  },
  spec: {
    replicas: 3,
    template: {
      spec: {
        containers: [
          { name: 'a', image: 'x:1' },
          { name: 'b', image: 'y:2' },
        ],
      },
    },
  },
}
const EVENT = { kind: 'Deployment', namespace: 'shop', cluster: 'prod' } as const

test('the three examples of the page say what they promise', async () => {
  expect(EXAMPLES).toHaveLength(3)
  const [restarts = '', rollouts = '', sink = ''] = EXAMPLES
  const kubeEvent = {
    reason: 'BackOff',
    count: 7,
    regarding: { kind: 'Pod', namespace: 'shop', name: 'web-1' },
  }
  const first = await contentOf(restarts, { rule: 'restarts', event: { namespace: 'shop' }, kubeEvent })
  expect(first.title).toMatch(/^\S+ in shop restarts again and again \(7 times\)$/)
  expect(first).toMatchObject({ text: '', fields: [], quote: '', command: '' })

  expect(
    await contentOf(rollouts, { rule: 'rollouts', type: 'DELETED', event: EVENT, object: DEPLOYMENT }),
  ).toMatchObject({
    severity: 'warning',
    title: 'web: 3 replicas wanted',
    text: 'a runs `x:1`\nb runs `y:2`',
    fields: [
      { title: 'Team', value: 'pay' },
      { title: 'App', value: 'web' },
      { title: 'Age', value: '3d' },
    ],
    links: [{ title: 'Dashboard', url: 'https://grafana.example.com/d/deploy?var-ns=shop&var-name=web' }],
    command: '',
  })

  const last = await contentOf(sink, { rule: 'all', event: EVENT, object: DEPLOYMENT })
  expect(last.title).toMatch(/^\[prod\] Deployment shop\/web /)
  expect(last.fields).toEqual([
    { title: 'Object', value: 'Deployment web' },
    { title: 'Owner', value: 'App shop' },
  ])
})

test('the page names every filter and every name', () => {
  for (const filter of FILTERS) expect(SECTION).toMatch(new RegExp('`' + filter + '[`:]'))
  for (const [name, inner = []] of Object.entries(NAMES)) {
    expect(SECTION).toContain(`\`${name}\``)
    for (const it of inner) expect(SECTION).toMatch(new RegExp(`\`(${name})?\\.${it}\``))
  }
})
