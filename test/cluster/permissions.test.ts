import { expect, test } from 'vitest'
import { waitFor } from '../wait-for.ts'
import { startBed } from './bed.ts'
import { startKubeherald } from './kubeherald.ts'
import { CONFIG_MAPS, manifest } from './workload.ts'

const ROLES = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles'
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings'
const ROLE = {
  metadata: { name: 'reader' },
  rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] }],
}
const BINDING = {
  metadata: { name: 'reader' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
  subjects: [{ kind: 'User', name: 'plain', apiGroup: 'rbac.authorization.k8s.io' }],
}

test('case 37: a watch whose right is taken away says so, resumes when it is back, and loses nothing', async () => {
  await using bed = await startBed()
  const { kubernetes, hook } = bed
  await kubernetes.request('POST', ROLES, ROLE)
  await kubernetes.request('POST', BINDINGS, BINDING)
  await using kubeherald = await startKubeherald({
    kubeconfig: kubernetes.kubeconfigOf('plain'),
    config: `
cluster: plain
redis: { url: "${bed.redis.url}" }
watch: [{ kind: ConfigMap, namespaces: default }, { kind: Secret, namespaces: default }]
sinks: { plain: { type: webhook, url: "${hook.url}?plain" } }
rules: [{ name: all, to: [plain] }]`,
    unready: true,
  })
  const came = (name: string) => () =>
    hook.requests.some(({ path, body }) => path.endsWith('plain') && body.includes(`"${name}"`))
  const phase = async (title: string) =>
    (await kubeherald.status()).instances
      .flatMap(({ watches }: any) => watches)
      .find((watch: any) => watch.title === title)
  // One watch is forbidden from the start; the other does not mind.
  await waitFor(async () => (await phase('secrets in default'))?.phase === 'failing', {
    what: 'the forbidden watch to say so',
  })
  expect((await phase('secrets in default')).lastError).toContain('403')
  expect(await kubeherald.ready()).toBe(false)
  await waitFor(async () => (await phase('configmaps in default'))?.ready, {
    what: 'the permitted watch to be ready',
  })
  await kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, 'while-permitted', 0))
  await waitFor(came('while-permitted'), { what: 'a change while it is permitted' })

  await kubernetes.request('DELETE', `${BINDINGS}/reader`)
  // An open watch is not asked again: the server must end it first.
  await kubernetes.killApiServer()
  await kubernetes.startApiServer()
  await waitFor(async () => (await phase('configmaps in default'))?.phase === 'failing', {
    timeoutMs: 60_000,
    what: 'the 403',
  })
  await kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, 'while-forbidden', 0))
  await kubernetes.request('POST', BINDINGS, BINDING)
  await waitFor(came('while-forbidden'), {
    timeoutMs: 60_000,
    what: 'the change that happened while it was forbidden',
  })
})
