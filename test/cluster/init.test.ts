import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { KNOWN_RESOURCES } from '../../src/cli/init/starter-file.ts'
import { openDesk } from '../cli/cli.ts'
import { runHere } from '../cli/here.ts'
import type { Kubernetes } from '../servers/kubernetes.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { waitFor } from '../wait-for.ts'
import { applyStrictly, kubeconfigOfAccount } from './service-account.ts'

/** Label values that YAML takes for something else. */
const NAMESPACES = {
  shop: { team: 'true', env: 'prod' },
  pay: { team: '1e3', env: 'prod' },
  ops: { team: 'true', env: 'null' },
}
const RIGHTS = '/apis/rbac.authorization.k8s.io/v1/namespaces/shop'

let kubernetes: Kubernetes
beforeAll(async () => {
  kubernetes = await borrowKubernetes()
  for (const [name, labels] of Object.entries(NAMESPACES))
    await kubernetes.request('POST', '/api/v1/namespaces', { metadata: { name, labels } })
  for (const { resource, kind } of KNOWN_RESOURCES)
    await kubernetes.request(
      'POST',
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      crd(resource, kind),
    )
  await waitFor(() => areServed(KNOWN_RESOURCES.map(({ resource }) => resource)), {
    what: 'the custom resources to be served',
    timeoutMs: 30_000,
  })
})
afterAll(() => kubernetes?.[Symbol.asyncDispose]())

async function areServed(resources: readonly string[]): Promise<boolean> {
  const asked = resources.map((resource) => {
    const [plural, ...group] = resource.split('.')
    return kubernetes.request('GET', `/apis/${group.join('.')}/v1/${plural}`)
  })
  return (await Promise.allSettled(asked)).every(({ status }) => status === 'fulfilled')
}

function crd(resource: string, kind: string): object {
  const [plural = '', ...group] = resource.split('.')
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  return {
    metadata: { name: resource },
    spec: {
      group: group.join('.'),
      scope: 'Namespaced',
      names: { plural, singular: kind.toLowerCase(), kind },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  }
}

test('what init writes is good: no warning, tests that pass, and permissions that suffice', async () => {
  using desk = openDesk({ KUBECONFIG: kubernetes.kubeconfig })
  const { code, stderr } = await desk.run('init')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const [file, permissions] = ['kubeherald.yaml', 'kubeherald-rbac.yaml'].map((name) => `${desk.cwd}/${name}`)
  const text = readFileSync(file as string, 'utf8')
  for (const { resource, rule } of KNOWN_RESOURCES)
    expect(text).toMatch(new RegExp(`${resource}[\\s\\S]*name: ${rule}\n`))

  await kubernetes.request('POST', '/api/v1/namespaces', { metadata: { name: 'kubeherald' } })
  await applyStrictly(kubernetes, readFileSync(permissions as string, 'utf8'))
  await kubernetes.request('POST', '/api/v1/namespaces/default/serviceaccounts', {
    metadata: { name: 'none' },
  })
  for (const [name, good] of [
    ['kubeherald', true],
    ['none', false],
  ] as const) {
    const account = { namespace: name === 'none' ? 'default' : namespaceIn(permissions as string), name }
    const KUBECONFIG = await kubeconfigOfAccount(kubernetes, account)
    using pod = openDesk({ KUBECONFIG })
    pod.write('kubeherald.yaml', text)
    const checked = JSON.parse((await pod.run('check', '--json')).stdout)
    expect(checked.good, JSON.stringify(checked.problems)).toBe(good)
    if (good) expect(checked.problems).toEqual([])
  }
  const tested = await desk.run('test')
  expect(tested.code, tested.stdout).toBe(0)

  // The rules that wait in comments for whoever wants them are right, too.
  const wanted = text.replaceAll(/^ {2}# (- name| {2}|team-)/gm, '  $1')
  for (const rule of ['production', 'team-true']) expect(wanted).toContain(`  - name: ${rule}\n`)
  using bold = openDesk({ KUBECONFIG: kubernetes.kubeconfig })
  bold.write('kubeherald.yaml', wanted)
  const loaded = await bold.run('check', '--json', '--offline')
  expect(JSON.parse(loaded.stdout).problems).toEqual([])
})

test('nothing is written over that is there already, unless it is asked for', async () => {
  using desk = openDesk({ KUBECONFIG: kubernetes.kubeconfig })
  for (const taken of ['kubeherald.yaml', 'kubeherald-rbac.yaml']) {
    const file = desk.write(taken, 'mine\n')
    expect((await desk.run('init')).code).toBe(2)
    expect(readFileSync(file, 'utf8')).toBe('mine\n')
    expect((await desk.run('init', '--force')).code).toBe(0)
    expect(readFileSync(file, 'utf8')).not.toBe('mine\n')
  }
})

test('who may read one namespace gets a file for that one', async () => {
  const rule = { apiGroups: ['*'], resources: ['*'], verbs: ['list', 'watch', 'get'] }
  await kubernetes.request('POST', `${RIGHTS}/roles`, { metadata: { name: 'reader' }, rules: [rule] })
  await kubernetes.request('POST', `${RIGHTS}/rolebindings`, {
    metadata: { name: 'reader' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
    subjects: [{ kind: 'User', name: 'plain', apiGroup: 'rbac.authorization.k8s.io' }],
  })
  const config = parse(readFileSync(kubernetes.kubeconfigOf('plain'), 'utf8'))
  config.contexts[0].context.namespace = 'shop'
  const KUBECONFIG = `${kubernetes.kubeconfigOf('plain')}-shop`
  writeFileSync(KUBECONFIG, JSON.stringify(config))
  using desk = openDesk({ KUBECONFIG })
  const { code, stderr } = await desk.run('init')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const written = parse(readFileSync(`${desk.cwd}/kubeherald.yaml`, 'utf8'))
  expect(written.watch).toContainEqual({ kind: 'Event', namespaces: ['shop'] })
  const permissions = parseAllDocuments(readFileSync(`${desk.cwd}/kubeherald-rbac.yaml`, 'utf8')).map((it) =>
    it.toJS(),
  )
  const reads = permissions.filter(({ rules }) => JSON.stringify(rules ?? '').includes('"events"'))
  expect(reads).toMatchObject([{ kind: 'Role', metadata: { namespace: 'shop' } }])
  const checked = JSON.parse((await desk.run('check', '--json')).stdout)
  expect(checked.good).toBe(true)
  // Whoever has no permissions in the cluster as a whole is told what that costs.
  const others = checked.problems.filter(
    ({ message }: { message: string }) => !message.includes('without it '),
  )
  expect(others).toEqual([])
  expect((await desk.run('test')).code).toBe(0)
  const { stdout } = await runHere(desk, 'kinds', '--count', '-o', 'json')
  const counted = JSON.parse(stdout).map(({ objects }: { objects: unknown }) => objects)
  expect(new Set(counted)).toEqual(new Set(['forbidden']))
})

test('kinds counts the objects of a real API server', async () => {
  using desk = openDesk({ KUBECONFIG: kubernetes.kubeconfig })
  const { code, stdout } = await runHere(desk, 'kinds', '--count', '-o', 'json')
  expect(code).toBe(0)
  const kinds = JSON.parse(stdout) as { name: string; objects: unknown }[]
  const { items } = (await kubernetes.request('GET', '/api/v1/namespaces')) as { items: unknown[] }
  expect(items.length).toBeGreaterThan(2)
  expect(kinds.find(({ name }) => name === 'namespaces')?.objects).toBe(items.length)
  expect(kinds.filter(({ objects }) => typeof objects !== 'number')).toEqual([])
})

function namespaceIn(file: string): string {
  return /kind: ServiceAccount[\s\S]*?namespace: (\S+)/.exec(readFileSync(file, 'utf8'))?.[1] ?? 'default'
}
