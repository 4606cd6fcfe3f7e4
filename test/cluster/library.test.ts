import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Change, type Changes, watch } from '../../src/watch/library/index.ts'
import type { Kubernetes } from '../servers/kubernetes.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { startTcpProxy } from '../servers/tcp-proxy.ts'
import { waitFor } from '../wait-for.ts'
import { collect, startLibraryProgram } from '../watch/library/bed.ts'
import { installWidgets } from './bed.ts'
import { currentRevision, etcdHistory } from './etcd-history.ts'
import { CONFIG_MAPS, churn, DEPLOYMENTS, manifest, WIDGETS } from './workload.ts'

/** The library `kubeherald/watch` on a real API server. */

const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.stable.example.com'
const IN_DEFAULT = { kind: 'ConfigMap', namespaces: ['default'] }

const create = (kubernetes: Kubernetes, collection: string, name: string, more: object = {}) =>
  kubernetes.request('POST', collection, { ...manifest(collection, name, 0), ...more })
const change = (kubernetes: Kubernetes, collection: string, name: string) =>
  kubernetes.request('PATCH', `${collection}/${name}`, manifest(collection, name, 1))
const remove = (kubernetes: Kubernetes, collection: string, name: string) =>
  kubernetes.request('DELETE', `${collection}/${name}`)

/** Takes the changes, apart from those of objects that the API server makes itself. */
function collectOwn(changes: Changes) {
  const { seen, done } = collect(changes)
  const own = () => seen.filter(({ name }) => name !== 'kube-root-ca.crt')
  const names = () => own().map(({ type, kind, name }) => `${type} ${kind} ${name}`)
  const came = (text: string) =>
    waitFor(() => names().includes(text), { timeoutMs: 60_000, what: () => `${text}; there are ${names()}` })
  return { own, names, came, done }
}

test('several kinds come in one stream; kinds are added and removed while it runs, and their definition may go', async () => {
  await using kubernetes = await borrowKubernetes()
  await create(kubernetes, CONFIG_MAPS, 'before')
  const { kubeconfig } = kubernetes
  const deployments = { kind: 'deployments.apps', namespaces: ['default'], labels: 'app in (web, api)' }
  await using changes = watch({ kinds: [IN_DEFAULT, deployments], kubeconfig, onWarning() {} })
  const { own, names, came, done } = collectOwn(changes)
  await changes.synced
  expect(names()).toEqual(['ADDED ConfigMap before'])

  await create(kubernetes, DEPLOYMENTS, 'web')
  await create(kubernetes, DEPLOYMENTS, 'other')
  // About 1.4 MB, near what etcd takes; quotes make it longer in JSON.
  await create(kubernetes, CONFIG_MAPS, 'large', {
    data: { text: '"'.repeat(1_000) + 'x'.repeat(1_000_000) },
  })
  await remove(kubernetes, CONFIG_MAPS, 'before')
  await came('DELETED ConfigMap before')
  await came('ADDED Deployment web')
  const large = own().find(({ name }) => name === 'large')
  expect((large as Change<any>).object.data.text).toHaveLength(1_001_000)
  expect(own().find(({ name }) => name === 'web')).toMatchObject({
    apiVersion: 'apps/v1',
    namespace: 'default',
    synthesized: false,
  })

  await expect(changes.add('Widget')).rejects.toMatchObject({ code: 'unknown-kind' })
  await installWidgets(kubernetes)
  await create(kubernetes, WIDGETS, 'first')
  await changes.add('widgets.stable.example.com')
  await came('ADDED Widget first')
  await kubernetes.request('DELETE', CRD)
  await came('DELETED Widget first')
  const isGone = () =>
    kubernetes.request('GET', CRD).then(
      () => false,
      () => true,
    )
  await waitFor(isGone, { what: 'the end of the definition' })
  await installWidgets(kubernetes)
  await create(kubernetes, WIDGETS, 'second')
  await came('ADDED Widget second')

  expect(await changes.remove('deployments.apps')).toBe(true)
  await change(kubernetes, DEPLOYMENTS, 'web')
  await create(kubernetes, CONFIG_MAPS, 'last')
  await came('ADDED ConfigMap last')
  await changes.close()
  await done
  expect(names().filter((it) => /Deployment/.test(it))).toEqual(['ADDED Deployment web'])
})

test('after an outage in which the API server restarted and forgot its history, the net difference comes', async () => {
  await using kubernetes = await borrowKubernetes()
  const port = Number(new URL(kubernetes.url).port)
  await using proxy = await startTcpProxy(port)
  for (const name of ['changed', 'gone', 'again', 'same']) await create(kubernetes, CONFIG_MAPS, name)
  const kubeconfig = kubernetes.kubeconfigAt(`https://127.0.0.1:${proxy.port}`)
  const warnings: object[] = []
  await using changes = watch({
    kinds: [IN_DEFAULT],
    kubeconfig,
    initial: 'skip',
    keepOld: true,
    onWarning: (it) => warnings.push(it),
  })
  const { own, names, came } = collectOwn(changes)
  await changes.synced
  // Nobody listens there.
  proxy.retarget(1)
  proxy.cut()
  await change(kubernetes, CONFIG_MAPS, 'changed')
  await remove(kubernetes, CONFIG_MAPS, 'gone')
  await remove(kubernetes, CONFIG_MAPS, 'again')
  await create(kubernetes, CONFIG_MAPS, 'again')
  await create(kubernetes, CONFIG_MAPS, 'new')
  await kubernetes.compact()
  await waitFor(() => warnings.length > 0, { what: 'a warning' })
  proxy.retarget(port)
  await came('DELETED ConfigMap gone')
  await create(kubernetes, CONFIG_MAPS, 'later')
  await came('ADDED ConfigMap later')
  expect(names().toSorted()).toEqual([
    'ADDED ConfigMap again',
    'ADDED ConfigMap later',
    'ADDED ConfigMap new',
    'DELETED ConfigMap again',
    'DELETED ConfigMap gone',
    'MODIFIED ConfigMap changed',
  ])
  expect(own().filter(({ synthesized }) => !synthesized)).toMatchObject([{ name: 'later' }])
  expect(own().find(({ name }) => name === 'changed')).toMatchObject({
    old: { data: { step: '0' } },
    object: { data: { step: '1' } },
  })
  expect(own().find(({ name }) => name === 'gone')?.object).toMatchObject({ data: { step: '0' } })
})

test('a program that is killed under writes, and started again, has every change at least once', async () => {
  await using kubernetes = await borrowKubernetes()
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-library-'))
  const [checkpoint, output] = [join(dir, 'position'), join(dir, 'changes')]
  try {
    const start = () => startLibraryProgram(kubernetes.kubeconfig, checkpoint, output)
    const lines = () => (existsSync(output) ? readFileSync(output, 'utf8').trim().split('\n') : [])
    let program = start()
    await waitFor(() => existsSync(checkpoint) || program.ended(), { what: () => program.output() })
    const since = (await currentRevision(kubernetes.etcdUrl)) + 1
    const writes = churn(kubernetes, [CONFIG_MAPS], { count: 300, parallel: 4, pauseMs: 10 })
    for (let kills = 0; kills < 3; kills++) {
      const before = lines().length
      await waitFor(() => lines().length > before + 100, {
        timeoutMs: 60_000,
        what: () => `changes; ${program.output()}`,
      })
      await program.end('SIGKILL')
      program = start()
    }
    await writes
    await create(kubernetes, CONFIG_MAPS, 'last')
    await waitFor(() => lines().some((it) => it.includes('"last"')), {
      timeoutMs: 60_000,
      what: 'the last change',
    })
    await program.end('SIGTERM')
    const seen = new Set(
      lines().map((line) => (({ name, resourceVersion }) => `${name}@${resourceVersion}`)(JSON.parse(line))),
    )
    const history = (await etcdHistory(kubernetes.etcdUrl, ['configmaps/default'], since)).map(
      ({ key, resourceVersion }) => `${key.split('/').at(-1)}@${resourceVersion}`,
    )
    expect(history.length).toBeGreaterThan(600)
    expect(history.filter((it) => !seen.has(it))).toEqual([])
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})

test('a missing permission names the resource and what to grant; a Role in one namespace is enough for that one', async () => {
  await using kubernetes = await borrowKubernetes()
  const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default'
  const metadata = { name: 'reader' }
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] }]
  await kubernetes.request('POST', `${rbac}/roles`, { metadata, rules })
  await kubernetes.request('POST', `${rbac}/rolebindings`, {
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
    subjects: [{ kind: 'User', name: 'plain', apiGroup: 'rbac.authorization.k8s.io' }],
  })
  const kubeconfig = kubernetes.kubeconfigOf('plain')
  const cluster = collect(watch({ kinds: ['ConfigMap'], kubeconfig }))
  const message = expect.stringMatching(/configmaps: 403.*"plain".*verbs list and watch.*ClusterRole/)
  await expect(cluster.done).rejects.toMatchObject({ code: 'forbidden', watch: 'configmaps', message })
  await create(kubernetes, CONFIG_MAPS, 'permitted')
  await using changes = watch({ kinds: [IN_DEFAULT], kubeconfig })
  const { came } = collectOwn(changes)
  await came('ADDED ConfigMap permitted')
  await expect(changes.add({ kind: 'Secret', namespaces: ['default'] })).rejects.toMatchObject({
    code: 'forbidden',
    message: expect.stringContaining('a Role in namespace default'),
  })
  await expect(
    collect(watch({ kinds: [{ kind: 'ConfigMap', namespaces: ['default'], labels: 'a in' }], kubeconfig }))
      .done,
  ).rejects.toMatchObject({ code: 'rejected' })
})
