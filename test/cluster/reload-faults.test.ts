import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { waitFor } from '../wait-for.ts'
import { startBed } from './bed.ts'
import { mountConfigMap } from './config-map.ts'
import { configOf, expectExactly, ruleNamed, rulesSeen } from './reload-parts.ts'
import { CONFIG_MAPS, churn, manifest } from './workload.ts'

test('a reload while Redis is away and a sink hangs: nothing is lost or matched twice, and what comes next follows the new rules', async () => {
  await using bed = await startBed()
  const { kubeherald, kubernetes, redis, hook } = bed
  const config = mountConfigMap(kubeherald)
  hook.answer(() => ({ hang: true }))
  await churn(kubernetes, [CONFIG_MAPS], { count: 20, parallel: 8, prefix: 'first' })
  await waitFor(() => hook.requests.length > 0, { what: 'the sink to hang' })
  await redis.stop()
  const load = churn(kubernetes, [CONFIG_MAPS], { count: 20, parallel: 4, prefix: 'second' })
  await config.reload(configOf(bed, { rules: ruleNamed('next') }))
  await load
  await redis.restart()
  hook.answer(() => ({ status: 200 }))
  await kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, 'last', 0))
  await expectExactly(bed)
  expect(
    rulesSeen(bed)
      .get('next')
      ?.some((it) => it.includes(' last@')),
  ).toBe(true)
  expect(kubeherald.log()).toContain('configuration reloaded')
})

test('a reload while the API server is away: watches that came and rules hold once it is back', async () => {
  await using bed = await startBed()
  const { kubeherald, kubernetes } = bed
  const config = mountConfigMap(kubeherald)
  await churn(kubernetes, [CONFIG_MAPS], { count: 10, parallel: 4, prefix: 'first' })
  await kubernetes.stopApiServer()
  const watch = '[{ kind: ConfigMap, namespaces: default }, { kind: Deployment, namespaces: default }]'
  await config.reload(configOf(bed, { watch, rules: ruleNamed('next') }))
  await kubernetes.startApiServer()
  const watching = async () => (await kubeherald.status()).instances[0].watches
  await waitFor(
    async () => (await watching()).filter(({ phase }: any) => phase === 'watching').length === 2,
    {
      timeoutMs: 40_000,
      what: 'both watches',
    },
  )
  await churn(kubernetes, [CONFIG_MAPS], { count: 10, parallel: 4, prefix: 'second' })
  await expectExactly(bed)
  expect(
    rulesSeen(bed)
      .get('next')
      ?.some((it) => it.includes(' second')),
  ).toBe(true)
})

test('kills in the middle of reloads: each start goes on with the file that is there, and nothing is missing or twice', async () => {
  await using bed = await startBed()
  const { kubeherald, kubernetes } = bed
  const config = mountConfigMap(kubeherald)
  for (const rule of ['one', 'two']) {
    const before = bed.hook.requests.length
    // As fast as it goes, so that commits and deliveries are on their way when the process ends.
    const load = churn(kubernetes, [CONFIG_MAPS], { count: 50, parallel: 8, prefix: `load-${rule}` })
    await waitFor(() => bed.hook.requests.length > before + 10, { what: 'the load to flow' })
    config.swap(configOf(bed, { rules: ruleNamed(rule) }))
    kubeherald.signal('SIGHUP')
    await kubeherald.kill()
    await kubeherald.start()
    await kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, `after-${rule}`, 0))
    const isTold = () =>
      rulesSeen(bed)
        .get(rule)
        ?.some((it) => it.includes(`after-${rule}@`))
    // The killed process holds its lanes until their locks expire, up to 12 s.
    await waitFor(isTold, { timeoutMs: 45_000, what: `the rule ${rule}` })
    await load
  }
  // A kill may repeat what was in flight, with the same id.
  await expectExactly(bed, { repeats: true })
})

test('fifty quick changes of the file: the last one counts, and the process settles', async () => {
  await using bed = await startBed()
  const { kubeherald, kubernetes } = bed
  const config = mountConfigMap(kubeherald)
  const load = churn(kubernetes, [CONFIG_MAPS], { count: 40, parallel: 4 })
  for (let i = 1; i <= 50; i++) {
    config.swap(i % 7 === 0 ? 'watch: [' : configOf(bed, { rules: ruleNamed(`storm-${i}`) }))
    if (i % 3 === 0) kubeherald.signal('SIGHUP')
  }
  await load
  let probes = 0
  const lastRules = async () => {
    await kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, `probe-${probes++}`, 0))
    await pause(100)
    return rulesSeen(bed).has('storm-50')
  }
  await waitFor(lastRules, {
    timeoutMs: 20_000,
    what: () => `the last rules; ${kubeherald.log().slice(-2_000)}`,
  })
  await expectExactly(bed)
  const isAccepted = async () => (await kubeherald.status()).instances[0].config.rejected === undefined
  await waitFor(isAccepted, { what: 'status to say that the file is good' })
})
