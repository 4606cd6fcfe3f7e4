import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { waitFor } from '../wait-for.ts'
import { startBed } from './bed.ts'
import { differences, exactly } from './compare.ts'
import { mountConfigMap } from './config-map.ts'
import { configOf, expectExactly, ruleNamed, rulesSeen } from './reload-parts.ts'
import { startSteadyLoad } from './steady-load.ts'
import { CONFIG_MAPS, churn, DEPLOYMENTS, manifest } from './workload.ts'

const RELOADS = 8

test('rules that are exchanged again and again under load: each change is matched once, by one of them', async () => {
  await using bed = await startBed()
  const { kubeherald, kubernetes } = bed
  const config = mountConfigMap(kubeherald)
  const load = startSteadyLoad(kubernetes)
  for (let i = 1; i <= RELOADS; i++) {
    const rule = i % 2 === 1 ? 'odd' : 'even'
    const text = configOf(bed, { rules: ruleNamed(rule) })
    if (i > RELOADS - 2) {
      config.swap(text)
      await config.applied(i)
    } else await config.reload(text)
    await kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, `after-${i}`, 0))
    const told = () => [...rulesSeen(bed)].flatMap(([by, all]) => (all.some(isOfThis) ? [by] : []))
    const isOfThis = (it: string) => it.includes(` after-${i}@`)
    await waitFor(() => told().length > 0, { what: () => `after-${i} by rule ${rule}` })
    expect(told()).toEqual([rule])
  }
  await load.stop()
  await expectExactly(bed)
  expect([...rulesSeen(bed).keys()].toSorted()).toEqual(
    ['even', 'odd', ...(rulesSeen(bed).has('all') ? ['all'] : [])].toSorted(),
  )
  expect(await config.count()).toBe(RELOADS)
  console.log(`${RELOADS} reloads under ${(await bed.history()).length} changes`)
})

test('watches come and go under load: one begins with what happens from then on, the others lose nothing', async () => {
  await using bed = await startBed()
  const { kubeherald, kubernetes } = bed
  const config = mountConfigMap(kubeherald)
  const load = churn(kubernetes, [CONFIG_MAPS], { count: 100, parallel: 4 })
  const both = '[{ kind: ConfigMap, namespaces: default }, { kind: Deployment, namespaces: default }]'
  await kubernetes.request('POST', DEPLOYMENTS, manifest(DEPLOYMENTS, 'before', 0))
  await config.reload(configOf(bed, { watch: both }))
  const watching = async () =>
    (await kubeherald.status()).instances[0].watches.filter(({ phase }: any) => phase === 'watching').length
  await waitFor(async () => (await watching()) === 2, { what: 'the new watch' })
  await kubernetes.request('POST', DEPLOYMENTS, manifest(DEPLOYMENTS, 'during', 0))
  const names = () => bed.arrivals().map(({ type, key }) => `${type} ${key}`)
  await waitFor(() => names().includes('ADDED deployments/default/during'), { what: 'the deployment' })
  await config.reload(configOf(bed))
  await waitFor(async () => (await watching()) === 1, { what: 'the watch to end' })
  const isForgotten = async () => !(await kubeherald.metrics()).includes('deployments.apps')
  await waitFor(isForgotten, { what: 'its metrics to be gone' })
  await kubernetes.request('POST', DEPLOYMENTS, manifest(DEPLOYMENTS, 'after', 0))
  await load
  await bed.allArrived()
  expect(names().filter((name) => name.includes('deployments'))).toEqual(['ADDED deployments/default/during'])
  expect((await kubeherald.status()).ledger.balanced).toBe(true)
})

test('what waits for a sink that is removed or renamed is still delivered by it, beside that of the new ones', async () => {
  await using bed = await startBed()
  const { kubeherald, kubernetes, hook } = bed
  const config = mountConfigMap(kubeherald)
  const isOld = ({ path }: { path: string }) => path === '/hook'
  hook.answer((request) => ({ status: isOld(request) ? 503 : 200 }))
  await churn(kubernetes, [CONFIG_MAPS], { count: 20, parallel: 8, prefix: 'early' })
  const pendingOf = async (sink: string) => (await kubeherald.status()).ledger.sinks[sink]?.pending
  await waitFor(async () => (await pendingOf('hook')) > 30, { what: 'a backlog' })

  const sinks = `{ renamed: { type: webhook, url: "${hook.url}/new" } }`
  await config.reload(configOf(bed, { sinks, rules: ruleNamed('all', 'renamed') }))
  await churn(kubernetes, [CONFIG_MAPS], { count: 10, parallel: 8, prefix: 'late' })
  await waitFor(async () => (await pendingOf('renamed')) === 0, { what: 'the new sink to deliver' })
  expect(await pendingOf('hook')).toBeGreaterThan(30)
  const isShownAsRemoved = async () =>
    (await kubeherald.status()).instances[0].sinks.some(
      ({ sink, removed }: any) => sink === 'hook' && removed,
    )
  await waitFor(isShownAsRemoved, { what: 'status to say that the sink is removed' })

  hook.answer(() => ({ status: 200 }))
  await expectExactly(bed)
  const pathsOf = (prefix: string) =>
    new Set(
      hook.requests.filter(({ body }) => JSON.parse(body).name.startsWith(prefix)).map(({ path }) => path),
    )
  expect([...pathsOf('early')]).toEqual(['/hook'])
  expect([...pathsOf('late')]).toEqual(['/hook/new'])
})

test('a file that is not good is told in log, status, readiness and metrics, and changes nothing', async () => {
  await using bed = await startBed()
  const { kubeherald, kubernetes } = bed
  const config = mountConfigMap(kubeherald)
  const secret = 'hunter2-hunter2'
  const token = { token: `${secret}\n` }
  const sinks = `{ hook: { type: webhook, url: "${bed.hook.url}", auth: { bearer: "\${file:token}" } } }`
  await config.reload(configOf(bed, { sinks }), token)
  const readiness = async () => (await fetch(`${kubeherald.url}/readyz`)).text()
  // As `sha256sum` says it.
  const digest = createHash('sha256').update(readFileSync(kubeherald.configFile)).digest('hex').slice(0, 12)
  const digestShown = async () => (await kubeherald.status()).instances[0].config.digest
  await waitFor(async () => (await digestShown()) === digest, { what: 'the digest in status' })

  config.swap(configOf(bed, { sinks, rules: ruleNamed('bad', 'hok') }), token)
  await waitFor(async () => (await readiness()).includes('not good'), { what: 'the rejection' })
  const problem = /kubeherald\.yaml:5:\d+: there is no sink \\?"hok/
  expect(await readiness()).toMatch(/^\[\+\]config ok, but its file is not good since .* stays in use: /m)
  // Whoever may probe reads where, and not what: a line may hold more than its problem.
  expect(await readiness()).toMatch(/kubeherald\.yaml:5\b/)
  expect(await readiness()).not.toContain('hok')
  expect(await kubeherald.ready()).toBe(true)
  expect(kubeherald.log()).toMatch(problem)
  const failed = 'kubeherald_config_reloads_total{result="failure"} 1'
  expect(await kubeherald.metrics()).toContain(failed)
  expect(await kubeherald.metrics()).toContain('kubeherald_config_last_reload_successful 0')
  const shown = async () => (await kubeherald.command('status')).stdout
  await waitFor(async () => problem.test(await shown()), { what: 'the rejection in status' })
  expect((await kubeherald.status()).instances[0].config).toMatchObject({ digest, rejected: {} })
  await kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, 'meanwhile', 0))
  await waitFor(
    () =>
      rulesSeen(bed)
        .get('all')
        ?.some((it) => it.includes('meanwhile')),
    { what: 'the old rule' },
  )

  await config.reload(configOf(bed, { sinks, rules: ruleNamed('good') }), { token: 'another-token\n' })
  await kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, 'later', 0))
  await waitFor(() => rulesSeen(bed).has('good'), { what: 'the new rule' })
  expect(bed.hook.requests.at(-1)?.headers.authorization).toBe('Bearer another-token')
  expect(await readiness()).toMatch(/^\[\+\]config ok$/m)
  expect(await kubeherald.metrics()).toContain('kubeherald_config_last_reload_successful 1')

  const elsewhere = configOf(bed, { sinks, rules: ruleNamed('more') }).replace(
    'cluster: test',
    'cluster: other',
  )
  await config.reload(elsewhere, token)
  expect(await readiness()).toMatch(/^\[\+\]config ok, but cluster changed: restart to use it$/m)
  expect(kubeherald.log()).toContain('configuration reloaded: 1 sink changed, rules changed')
  expect(kubeherald.log() + (await readiness())).not.toMatch(/hunter2|another-token/)
})

test('a rule that asks for old values gets them from the next change on, and they are freed with it', async () => {
  await using bed = await startBed()
  const { kubeherald, kubernetes, redis } = bed
  const config = mountConfigMap(kubeherald)
  const load = churn(kubernetes, [CONFIG_MAPS], { count: 20, parallel: 4, prefix: 'load' })
  const sinks = `{ hook: { type: webhook, url: "${bed.hook.url}" }, chat: { type: stdout, format: message } }`
  const patch = (step: number) =>
    kubernetes.request('PATCH', `${CONFIG_MAPS}/web`, manifest(CONFIG_MAPS, 'web', step))
  const changesOf = (step: number) => {
    const events = bed.hook.requests.map(({ body }) => JSON.parse(body))
    const of = events.find(
      ({ data }) => data.object.data?.step === String(step) && data.object.metadata.name === 'web',
    )
    return of && (of.data.changes ?? 'none')
  }
  const kept = async () => redis.command('KEYS', '*:old:*')
  await kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, 'web', 0))
  await patch(1)
  await waitFor(() => changesOf(1), { what: 'a change without old values' })
  expect(changesOf(1)).toBe('none')

  await config.reload(configOf(bed, { sinks, rules: ruleNamed('all', 'hook, chat') }))
  await patch(2)
  await waitFor(() => changesOf(2), { what: 'the change from which on they are kept' })
  await patch(3)
  await waitFor(() => changesOf(3), { what: 'a change with old values' })
  expect(changesOf(3)).toContainEqual({ path: 'data.step', old: '2', new: '3' })
  expect(await kept()).toHaveLength(1)

  await config.reload(configOf(bed))
  await waitFor(async () => ((await kept()) as string[]).length === 0, { what: 'old objects to be freed' })
  await load
  const history = await bed.allArrived()
  expect(differences(history, bed.arrivals())).toEqual(exactly())
})
