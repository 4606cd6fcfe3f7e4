import { Transform } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Source } from '../../src/model/change.ts'
import type { ClusterClient } from '../../src/watch/client/cluster-client.ts'
import type { Kubernetes } from '../servers/kubernetes.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { freePort } from '../servers/ports.ts'
import { startTcpProxy } from '../servers/tcp-proxy.ts'
import { waitFor } from '../wait-for.ts'
import { startEnrichBed } from './enrich-bed.ts'

let kubernetes: Kubernetes

beforeAll(async () => {
  kubernetes = await borrowKubernetes()
})

afterAll(async () => {
  await kubernetes?.[Symbol.asyncDispose]()
})

interface Made {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace: string; uid: string; resourceVersion: string }
}

const CORE = '/api/v1/namespaces/default'
const APPS = '/apis/apps/v1/namespaces/default'
const BATCH = '/apis/batch/v1/namespaces/default'
const TEMPLATE = {
  metadata: { labels: { app: 'a' } },
  spec: { containers: [{ name: 'app', image: 'registry.invalid/app' }], restartPolicy: 'Never' },
}
const SPECS: Record<string, object> = {
  pods: TEMPLATE.spec,
  jobs: { template: TEMPLATE },
  cronjobs: { schedule: '* * * * *', jobTemplate: { spec: { template: TEMPLATE } } },
}
const workload = {
  selector: { matchLabels: { app: 'a' } },
  template: { ...TEMPLATE, spec: { ...TEMPLATE.spec, restartPolicy: 'Always' } },
}

async function make(
  root: string,
  plural: string,
  name: string,
  owner?: Made,
  labels: object = {},
): Promise<Made> {
  const ownerReferences = owner && [
    { apiVersion: 'v1', kind: 'Distraction', name: 'other', uid: 'other' },
    {
      apiVersion: owner.apiVersion,
      kind: owner.kind,
      name: owner.metadata.name,
      uid: owner.metadata.uid,
      controller: true,
    },
  ]
  const metadata = { name, labels, ...(ownerReferences && { ownerReferences }) }
  const spec = SPECS[plural] ?? workload
  return (await kubernetes.request('POST', `${root}/${plural}`, { metadata, spec })) as Made
}

function tellOf({ apiVersion, kind, metadata }: Made, name: string): Promise<unknown> {
  const { namespace, uid } = metadata
  const involvedObject = { apiVersion, kind, namespace, name: metadata.name, uid }
  return kubernetes.request('POST', `${CORE}/events`, {
    metadata: { name },
    involvedObject,
    reason: 'BackOff',
    type: 'Warning',
  })
}

const LABELS = { when: { kind: 'Event', regarding: { kind: ['Pod', 'Node'], labels: { team: 'shop' } } } }
const OWNERS = { when: { owner: 'Deployment/web', regarding: { owner: 'Deployment/web' } } }
const NAMESPACES = { when: { namespaceLabels: { team: 'shop' } } }
const WATCH = [
  { kind: 'Event', namespaces: ['default'] },
  { kind: 'Pod', namespaces: ['default'] },
]

const LAG_MS = 200

/** What it streams comes late: always later than the Event that asks for it. */
function lagging(client: ClusterClient): ClusterClient {
  return {
    ...around(client),
    async stream(path, ...rest) {
      const answer = await client.stream(path, ...rest)
      const late = new Transform({
        transform(chunk, _encoding, done) {
          setTimeout(() => late.destroyed || late.push(chunk), LAG_MS)
          done()
        },
        flush: (done) => void setTimeout(done, 2 * LAG_MS),
      })
      answer.body.pipe(late)
      answer.body.on('error', (error) => late.destroy(error))
      late.on('close', () => answer.body.destroy())
      return { ...answer, body: late }
    },
  }
}

function around(client: ClusterClient): ClusterClient {
  return {
    url: client.url,
    get: client.get.bind(client),
    stream: client.stream.bind(client),
    send: client.send.bind(client),
    refresh: client.refresh.bind(client),
    close: client.close.bind(client),
  }
}

/** What was missed, by resource. */
async function misses(bed: Pick<Awaited<ReturnType<typeof startEnrichBed>>, 'metric'>) {
  return (await bed.metric('enrich_misses_total')).filter(({ value }) => value > 0)
}

test('a pod and the Events about it are decided with owners up to the top, and labels, however fast they come', async () => {
  await using bed = await startEnrichBed({
    client: lagging,
    kubeconfig: kubernetes.kubeconfig,
    rules: [LABELS, OWNERS, NAMESPACES],
    watch: WATCH,
  })
  const deployment = await make(APPS, 'deployments', 'web')
  for (let i = 0; i < 20; i++) {
    const set = await make(APPS, 'replicasets', `web-${i}`, deployment)
    const pod = await make(CORE, 'pods', `web-${i}-x`, set, { team: 'shop', i: String(i) })
    await tellOf(pod, `event-${i}`)
  }
  const cronJob = await make(BATCH, 'cronjobs', 'nightly')
  const job = await make(BATCH, 'jobs', 'nightly-1', cronJob)
  await make(CORE, 'pods', 'nightly-1-x', job)
  for (let i = 0; i < 20; i++) {
    const owners = [`ReplicaSet/web-${i}`, 'Deployment/web']
    expect(await bed.of(`web-${i}-x`)).toMatchObject({ owners, owner: 'Deployment/web' })
    expect(await bed.of(`event-${i}`)).toMatchObject({
      owner: 'Deployment/web',
      regardingOwners: owners,
      regardingLabels: { team: 'shop', i: String(i) },
      namespaceLabels: { 'kubernetes.io/metadata.name': 'default' },
    })
  }
  expect(await bed.of('nightly-1-x')).toMatchObject({
    owners: ['Job/nightly-1', 'CronJob/nightly'],
    owner: 'CronJob/nightly',
  })
  expect(await misses(bed)).toEqual([])
  // What is read: metadata alone, of what stands between and what Events are about, and of the one namespace.
  expect(
    bed.enrichment
      .statuses()
      .map(({ title }) => title)
      .toSorted(),
  ).toEqual([
    'metadata of jobs.batch in default',
    'metadata of namespaces default',
    'metadata of nodes',
    'metadata of pods in default',
    'metadata of replicasets.apps in default',
  ])
})

test('labels of a namespace that change are those of the events that follow', async () => {
  await using bed = await startEnrichBed({
    kubeconfig: kubernetes.kubeconfig,
    rules: [NAMESPACES],
    watch: WATCH,
  })
  const relabel = (team: string) =>
    kubernetes.request('PATCH', '/api/v1/namespaces/default', { metadata: { labels: { team } } })
  const known = () => bed.enrichment.surroundings.namespaceLabels('default')?.['team']
  for (const team of ['shop', 'pay']) {
    await relabel(team)
    await waitFor(() => known() === team, { what: `the label ${team}` })
    await make(CORE, 'pods', `in-${team}`)
    expect((await bed.of(`in-${team}`)).namespaceLabels).toMatchObject({ team })
  }
  await relabel(null as never)
})

test('annotations that rules and templates name are known, others are not kept, and a reload reads those that are new', async () => {
  const annotate = (path: string, annotations: object) =>
    kubernetes.request('PATCH', path, { metadata: { annotations } })
  const namespace = '/api/v1/namespaces/default'
  await annotate(namespace, { 'team/slack': 'shop', other: 'x'.repeat(10_000), later: 'z' })
  const pod = await make(CORE, 'pods', 'annotated')
  await annotate(`${CORE}/pods/annotated`, { owner: 'ann', other: 'y' })
  const rule = {
    when: { kind: 'Event', regarding: { kind: 'Pod', annotations: { owner: '*' } } },
    message: '{{ namespaceAnnotations["team/slack"] }} {{ event.regarding.annotations.missing }}',
  }
  await using bed = await startEnrichBed({ kubeconfig: kubernetes.kubeconfig, rules: [rule], watch: WATCH })
  await tellOf(pod, 'about-annotated')
  expect(await bed.of('about-annotated')).toMatchObject({
    regardingAnnotations: { owner: 'ann' },
    namespaceAnnotations: { 'team/slack': 'shop' },
    related: { namespaceAnnotations: { 'team/slack': 'shop' } },
  })
  const next = bed.needsFor([rule, { when: { namespaceAnnotations: { later: '*' } } }])
  await bed.enrichment.prepare(next)
  bed.enrichment.use(next)
  await tellOf(pod, 'about-annotated-again')
  expect((await bed.of('about-annotated-again')).namespaceAnnotations).toEqual({
    'team/slack': 'shop',
    later: 'z',
  })
  await annotate(namespace, { 'team/slack': null, other: null, later: null })
})

test('an Event about a pod that is gone has the labels and owners that the pod had; of its successor those of that', async () => {
  await using bed = await startEnrichBed({
    kubeconfig: kubernetes.kubeconfig,
    rules: [LABELS, OWNERS],
    watch: WATCH,
  })
  const set = await make(APPS, 'replicasets', 'gone')
  const old = await make(CORE, 'pods', 'gone-x', set, { team: 'old' })
  await kubernetes.request('DELETE', `${CORE}/pods/gone-x`)
  const fresh = await make(CORE, 'pods', 'gone-x', undefined, { team: 'fresh' })
  await kubernetes.request('DELETE', `${APPS}/replicasets/gone`)
  await waitFor(() => bed.decided.some(({ name, type }) => name === 'gone-x' && type === 'DELETED'), {
    what: 'the deletion',
  })
  await tellOf(old, 'about-old')
  await tellOf(fresh, 'about-fresh')
  expect(await bed.of('about-old')).toMatchObject({
    regardingLabels: { team: 'old' },
    regardingOwners: ['ReplicaSet/gone'],
  })
  expect(await bed.of('about-fresh')).toMatchObject({
    regardingLabels: { team: 'fresh' },
    regardingOwners: [],
  })
  expect(await bed.of('gone-x', 'DELETED')).toMatchObject({ owners: ['ReplicaSet/gone'] })
})

test('Events wait until what was there before is read, and an Event about nothing that is known does not wait for long', async () => {
  const pod = await make(CORE, 'pods', 'before', undefined, { team: 'shop' })
  const gate = Promise.withResolvers<void>()
  const held = (client: ClusterClient): ClusterClient => ({
    ...around(client),
    get: async (path, ...rest) => {
      if (path.includes('/pods')) await gate.promise
      return client.get(path, ...rest)
    },
    stream: async (path, ...rest) => {
      if (path.includes('/pods')) await gate.promise
      return client.stream(path, ...rest)
    },
  })
  await using bed = await startEnrichBed({
    kubeconfig: kubernetes.kubeconfig,
    rules: [LABELS],
    watch: WATCH,
    client: held,
    unready: true,
  })
  await tellOf(pod, 'at-the-start')
  // The other source goes on meanwhile, and Events come in their order.
  await make(CORE, 'pods', 'meanwhile')
  await bed.of('meanwhile')
  expect(bed.decided.map(({ name }) => name)).not.toContain('at-the-start')
  gate.resolve()
  expect((await bed.of('at-the-start')).regardingLabels).toEqual({ team: 'shop' })
  const nobody = { ...pod, metadata: { ...pod.metadata, name: 'nobody', uid: crypto.randomUUID() } }
  await tellOf(nobody, 'about-nobody')
  expect((await bed.of('about-nobody')).regardingLabels).toBeUndefined()
  const waits = async () => (await bed.metric('enrich_wait_duration_seconds')).at(-1)?.value
  const before = await waits()
  await tellOf(nobody, 'about-nobody-again')
  await bed.of('about-nobody-again')
  // The second time nothing is waited for.
  expect(await waits()).toBe(before)
  expect(await misses(bed)).toMatchObject([{ labels: { resource: 'pods' }, value: 1 }])
})

test('a hundred Events about what somebody made up delay another by less than one wait', async () => {
  const pod = await make(CORE, 'pods', 'honest', undefined, { team: 'shop' })
  await using bed = await startEnrichBed({
    kubeconfig: kubernetes.kubeconfig,
    rules: [LABELS],
    watch: WATCH,
  })
  const madeUp = (i: number) => {
    const metadata = { ...pod.metadata, name: `made-up-${i}`, uid: crypto.randomUUID() }
    return tellOf({ ...pod, metadata }, `about-made-up-${i}`)
  }
  await madeUp(0)
  /** How many commits waited for longer than a second. */
  const longWaits = async () => {
    const some = await bed.metric('enrich_wait_duration_seconds')
    const bucket = (le: unknown) => some.find(({ labels }) => labels['le'] === le)?.value ?? 0
    return bucket('+Inf') - bucket(1)
  }
  await bed.of('about-made-up-0')
  expect(await longWaits()).toBe(1)
  // One after another: each may be decided by itself.
  for (let i = 1; i < 100; i++) await madeUp(i)
  await tellOf(pod, 'about-honest')
  expect((await bed.of('about-honest')).regardingLabels).toEqual({ team: 'shop' })
  expect(bed.decided.filter(({ name }) => name.startsWith('about-made-up'))).toHaveLength(100)
  expect(await longWaits()).toBe(1)
})

test('metadata that must not be read is told, events are decided without it, and with it once it may be read', async () => {
  const grant = (name: string, rules: object[]) => {
    const group = '/apis/rbac.authorization.k8s.io/v1'
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name }
    const subjects = [{ kind: 'User', name: 'plain', apiGroup: 'rbac.authorization.k8s.io' }]
    return Promise.all([
      kubernetes.request('POST', `${group}/clusterroles`, { metadata: { name }, rules }),
      kubernetes.request('POST', `${group}/clusterrolebindings`, { metadata: { name }, roleRef, subjects }),
    ])
  }
  const verbs = ['list', 'watch']
  await grant('few', [{ apiGroups: [''], resources: ['events', 'nodes'], verbs }])
  const lines: { message: string; fields: object }[] = []
  const note = (fields: object, message: string) => void lines.push({ fields, message })
  const kubeconfig = kubernetes.kubeconfigOf('plain')
  const pod = await make(CORE, 'pods', 'forbidden', undefined, { team: 'shop' })
  await using bed = await startEnrichBed({
    kubeconfig,
    rules: [LABELS],
    watch: [{ kind: 'Event', namespaces: ['default'] }],
    log: { debug() {}, info() {}, warn: note, error: note } as never,
    unready: true,
  })
  await waitFor(() => bed.phases().includes('metadata of pods in default failing'), { what: 'the 403' })
  await tellOf(pod, 'unknown-pod')
  expect((await bed.of('unknown-pod')).regardingLabels).toBeUndefined()
  expect(bed.enrichment.statuses().find(({ title }) => title.includes('pods'))?.lastError).toContain('403')
  expect(await misses(bed)).toMatchObject([{ labels: { resource: 'pods' }, value: 1 }])
  expect(lines).toContainEqual({
    message: expect.stringContaining('this metadata cannot be read'),
    fields: expect.objectContaining({ rules: 'r0', error: expect.stringContaining('403') }),
  })
  await grant('more', [{ apiGroups: [''], resources: ['pods'], verbs }])
  await waitFor(() => bed.phases().includes('metadata of pods in default watching'), {
    timeoutMs: 20_000,
    what: 'the metadata',
  })
  await tellOf(pod, 'known-pod')
  expect((await bed.of('known-pod')).regardingLabels).toEqual({ team: 'shop' })
})

test('after a 410 the metadata is listed anew: what changed and went meanwhile is known', async () => {
  const port = Number(new URL(kubernetes.url).port)
  await using proxy = await startTcpProxy(port)
  await using bed = await startEnrichBed({
    kubeconfig: kubernetes.kubeconfigAt(`https://127.0.0.1:${proxy.port}`),
    rules: [LABELS, OWNERS],
    watch: WATCH,
  })
  const stays = await make(CORE, 'pods', 'stays', undefined, { team: 'before' })
  const goes = await make(CORE, 'pods', 'goes', undefined, { team: 'goes' })
  await bed.of('goes')
  proxy.retarget(await freePort())
  proxy.cut()
  await kubernetes.request('PATCH', `${CORE}/pods/stays`, { metadata: { labels: { team: 'after' } } })
  await kubernetes.request('DELETE', `${CORE}/pods/goes`)
  await kubernetes.compact()
  proxy.retarget(port)
  await bed.watching()
  await tellOf(stays, 'about-stays')
  await tellOf(goes, 'about-goes')
  expect((await bed.of('about-stays')).regardingLabels).toEqual({ team: 'after' })
  expect((await bed.of('about-goes')).regardingLabels).toEqual({ team: 'goes' })
  const relists = await bed.metric('watch_relists_total')
  expect(relists).toContainEqual(
    expect.objectContaining({ labels: { watch: 'metadata of pods in default', cause: 'expired' } }),
  )
})

test('a deletion that a list finds waits for metadata, although the list found no object that could ask for any', async () => {
  const gate = { open: Promise.resolve() }
  await using bed = await startEnrichBed({
    kubeconfig: kubernetes.kubeconfig,
    rules: [NAMESPACES],
    watch: [{ kind: 'Job', namespaces: ['default'], labels: 'only=one' }],
    client: (client) => ({
      ...around(client),
      stream: async (path, ...rest) => {
        await gate.open
        return client.stream(path, ...rest)
      },
      get: async (path, ...rest) => {
        if (path.includes('/namespaces')) await gate.open
        return client.get(path, ...rest)
      },
    }),
  })
  await make(BATCH, 'jobs', 'only', undefined, { only: 'one' })
  await bed.of('only')
  // As after a downtime: neither the watch nor the metadata goes on from where it was.
  bed.apply([])
  bed.enrichment.use(bed.needsFor([]))
  await waitFor(() => bed.phases().length === 0, { what: 'the watches to stop' })
  await kubernetes.request('DELETE', `${BATCH}/jobs/only?propagationPolicy=Background`)
  await kubernetes.compact()
  const { promise, resolve } = Promise.withResolvers<void>()
  gate.open = promise
  bed.enrichment.use(bed.needsFor([NAMESPACES]))
  bed.apply([{ kind: 'Job', namespaces: ['default'], labels: 'only=one' }])
  const relisted = async () =>
    (await bed.metric('watch_relists_total')).some(
      ({ labels, value }) => String(labels.watch).startsWith('jobs') && value > 0,
    )
  await waitFor(relisted, { what: 'the list' })
  setTimeout(resolve, LAG_MS)
  expect((await bed.of('only', 'DELETED')).namespaceLabels).toEqual({
    'kubernetes.io/metadata.name': 'default',
  })
})

test('nothing is waited for of a kind that went', async () => {
  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  await kubernetes.request('POST', crds, {
    metadata: { name: 'gadgets.enrich.example.com' },
    spec: {
      group: 'enrich.example.com',
      names: { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' },
      scope: 'Namespaced',
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  })
  const about = { kind: 'gadgets.enrich.example.com', labels: { team: 'shop' } }
  await using bed = await startEnrichBed({
    kubeconfig: kubernetes.kubeconfig,
    rules: [{ when: { kind: 'Event', regarding: about } }],
    watch: WATCH,
  })
  await kubernetes.request('DELETE', `${crds}/gadgets.enrich.example.com`)
  await waitFor(() => bed.phases().some((it) => it.endsWith('waiting-for-kind')), {
    what: () => `the kind to go: ${bed.phases()}`,
  })
  await bed.enrichment.awaitMetadata({ key: 'any' } as Source, 'all', AbortSignal.timeout(60_000))
  expect(await misses(bed)).toEqual([])
})

test('needs that come and go start and stop watches of metadata', async () => {
  await using bed = await startEnrichBed({ kubeconfig: kubernetes.kubeconfig, rules: [], watch: WATCH })
  expect(bed.phases()).toEqual([])
  const pod = await make(CORE, 'pods', 'reloaded', undefined, { team: 'shop' })
  const { enrichment } = bed
  const ref = { kind: 'Pod', namespace: 'default', name: pod.metadata.name, uid: pod.metadata.uid }
  await enrichment.prepare(bed.needsFor([LABELS]))
  expect(enrichment.surroundings.object(ref)?.labels).toEqual({ team: 'shop' })
  enrichment.use(bed.needsFor([LABELS]))
  await tellOf(pod, 'after-the-reload')
  expect((await bed.of('after-the-reload')).regardingLabels).toEqual({ team: 'shop' })
  enrichment.use(bed.needsFor([]))
  await waitFor(() => bed.phases().length === 0, { what: 'the watches to stop' })
  expect(enrichment.surroundings.object(ref)).toBeUndefined()
  await tellOf(pod, 'without')
  expect((await bed.of('without')).regardingLabels).toBeUndefined()
  expect((await bed.metric('enrich_objects')).filter(({ value }) => value > 0)).toEqual([])
})
