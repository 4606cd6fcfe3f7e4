import { expect, test } from 'vitest'
import { NO_SURROUNDINGS, type RelatedMetadata } from '../../../src/model/event.ts'
import { journalContents } from '../../../src/model/journal-record.ts'
import { normalise } from '../../../src/watch/decode/normalise.ts'
import { change, SOURCE } from '../../store/objects.ts'
import { never, startStoreBed } from '../../store/store-bed.ts'
import { openDesk } from '../cli.ts'
import { runHere } from '../here.ts'

const KNOWN: RelatedMetadata = {
  ...NO_SURROUNDINGS,
  namespaceLabels: () => ({ team: 'shop', tier: 'gold' }),
}

/** A desk with two configurations, and a Redis whose journal has one change. */
async function openJournal(
  rules: readonly [now: string, next: string],
  {
    surroundings,
    watch = 'ConfigMap',
    group = '',
  }: { surroundings?: RelatedMetadata; watch?: string; group?: string } = {},
) {
  const stack = new AsyncDisposableStack()
  const desk = stack.use(openDesk())
  const store = stack.use(
    await startStoreBed({
      journal: {
        bounds: () => ({ keepMs: 86_400_000, maxBytes: 1e6 }),
        contentsOf: (source, transition) =>
          journalContents(
            normalise(source, transition, {
              cluster: 'test',
              salt: Buffer.from('salt'),
              owners: surroundings !== undefined,
              ...(surroundings && { surroundings }),
            }),
          ),
      },
    }),
  )
  const source = { ...SOURCE, resource: { ...SOURCE.resource, group } }
  const session = await store.newStore().open(source, never)
  await session.beginList('newer', never)
  await session.endList('1', never)
  await session.commit([change('ADDED', 'a', 2)], '2', never)
  for (const [i, rule] of rules.entries())
    desk.write(
      ['now.yaml', 'next.yaml'][i] as string,
      `cluster: test\nredis: { url: "${store.server.url}" }\nwatch: [${watch}]\nsinks: { chat: { type: stdout, format: message } }\nrules: [{ name: all, ${rule}, to: chat }]\n`,
    )
  return {
    backtest: () =>
      runHere(desk, 'backtest', '-c', 'now.yaml', '--rules', 'next.yaml', '--fail-on-difference'),
    run: (...args: string[]) => runHere(desk, ...args),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

test('a note names the kinds of events that neither watch selects', async () => {
  await using bed = await openJournal(['when: { name: "*" }', 'when: { name: "*" }'], { watch: 'Secret' })
  expect((await bed.backtest()).stderr).toMatch(/^note: .*1 event\b.*ConfigMap/m)
  await using same = await openJournal(['when: { name: "*" }', 'when: { name: "*" }'])
  expect((await same.backtest()).stderr).not.toMatch(/ConfigMap/)
})

test('a kind that a name may be for makes the result uncertain, which is no success', async () => {
  const rule = 'when: { name: "*" }'
  const watch = 'ConfigMap.v1, thingamajigs'
  await using bed = await openJournal([rule, rule], { watch, group: 'example.com' })
  const { code, stderr } = await bed.backtest()
  expect(code, stderr).toBe(1)
  await using known = await openJournal([rule, rule], { watch })
  expect((await known.backtest()).code).toBe(0)
})

const label = (key: string) => `message: '{{ namespaceLabels["${key}"] | default: "none" }}'`

test('templates have the related metadata of the journal', async () => {
  await using other = await openJournal([label('team'), label('tier')], { surroundings: KNOWN })
  const result = await other.backtest()
  expect(result.code, result.stderr).toBe(1)
  expect(result.stdout).toMatch(/~ .*gold/)
  expect(result.stdout).toMatch(/was: shop/)
})

test('why previews messages with the related metadata of the journal', async () => {
  await using bed = await openJournal([label('team'), label('team')], { surroundings: KNOWN })
  const { code, stdout, stderr } = await bed.run('why', 'configmap/default/a', '-c', 'now.yaml')
  expect(code, stderr).toBe(0)
  expect(stdout).toContain('shop')
})

test.each([
  ['when: { namespaceLabels: { team: shop } }', 'namespaces'],
  ['when: { owner: "!Deployment/canary-*" }', 'owners'],
])('a note names what the journal does not have: %s', async (rule, what) => {
  await using bare = await openJournal(['when: { name: "*" }', rule])
  expect((await bare.backtest()).stderr).toMatch(new RegExp(`^note: .*${what}`, 'm'))
  await using whole = await openJournal(['when: { name: "*" }', rule], { surroundings: KNOWN })
  expect((await whole.backtest()).stderr).not.toMatch(/^note: .*(namespaces|owners)/m)
})
