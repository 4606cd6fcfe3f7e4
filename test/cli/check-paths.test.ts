import { spawnSync } from 'node:child_process'
import { mkdtempDisposableSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkPaths } from '../../src/cli/check/check-cluster.ts'
import { readDocument } from '../../src/config/document.ts'
import { rulePaths } from '../../src/config/lint/rule-paths.ts'
import type { ClusterClient } from '../../src/watch/client/cluster-client.ts'
import { connectCluster } from '../../src/watch/client/connect.ts'
import { discover } from '../../src/watch/client/discovery.ts'
import { programMain } from '../program.ts'
import type { Kubernetes } from '../servers/kubernetes.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'

const NEVER = new AbortController().signal
let kubernetes: Kubernetes
let client: ClusterClient
beforeAll(async () => {
  kubernetes = await borrowKubernetes()
  client = connectCluster({ kubeconfig: kubernetes.kubeconfig, env: {}, userAgent: 'test' })
})
afterAll(async () => {
  await client?.close()
  await kubernetes?.[Symbol.asyncDispose]()
})

async function tell(rules: string): Promise<string[]> {
  const document = readDocument('f.yaml', `rules:\n${rules}`, { env: {}, readFile: () => '' })
  const catalogue = await discover(client, NEVER)
  const paths = rulePaths(document)
  const problems = await checkPaths(paths, { client, catalogue }, document, NEVER)
  return problems.map(({ line, column, message, hint }) => `${line}:${column} ${message} = ${hint}`)
}

test('paths that the real API server does not know are told, each at its place', async () => {
  expect(
    await tell(`
  - { when: { kind: Deployment }, changed: [spec.replicas, spec.replica, spec.template.spec.containers.*.imag] }
  - { when: { kind: [Pod] }, if: "object.spec.nodeName != '' && object.status.phas == 'x'" }
  - { when: { kind: Node }, to-state: { spec.unschedulabel: "true", "status.conditions[type=Ready].status": "False" } }
  - { when: { kind: [Deployment, DaemonSet] }, unchanged: [spec.replicas, spec.replicaz] }
  - { when: { kind: ConfigMap }, changed: [data.any, "data[a.yaml]", metadata.annotations] }
  - { when: { kind: Event }, if: "object.involvedObject.kind == 'Pod'" }
  - { when: { kind: Pod }, if: "object.spec.containers.exists(c, c.imag == 'x') && has(object.spec.nodName) && object.metadata.labels['a/b'] == 'c'" }
`),
  ).toEqual([
    '3:65 spec has no field "replica" = did you mean "replicas"?',
    '3:106 spec.template.spec.containers.* has no field "imag" = did you mean "image"?',
    '4:79 status has no field "phas" = did you mean "phase"?',
    '5:41 spec has no field "unschedulabel" = did you mean "unschedulable"?',
    '6:80 spec has no field "replicaz" = did you mean "replicas"?',
    '9:100 spec has no field "nodName" = did you mean "nodeName"?',
  ])
})

test('kinds that are not known, or are patterns, are passed over', async () => {
  expect(
    await tell(
      '  - { when: { kind: Widget }, changed: [spec.a] }\n  - { when: { kind: "D*" }, changed: [spec.a] }\n  - { changed: [spec.a] }',
    ),
  ).toEqual([])
})

test('a path of a pod in a rule for its Deployment is told once, with what to write', () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'kubeherald-'))
  const file = join(folder.path, 'kubeherald.yaml')
  writeFileSync(
    file,
    `watch: [{ kind: Deployment, namespaces: default }]
sinks: { screen: { type: stdout } }
rules:
  - { name: a, when: { kind: Deployment }, changed: "spec.containers[name=app].image", to: screen }
  - { name: b, when: { kind: Deployment }, changed: spec.replica, to: screen }
`,
  )
  const env = { ...process.env, KUBECONFIG: kubernetes.kubeconfig }
  const { stdout, stderr } = spawnSync(process.execPath, [programMain(), 'check', '--config', file], {
    env,
    encoding: 'utf8',
  })
  const told = (stdout + stderr)
    .match(/^.*:[45]:\d+: warning: .*$/gm)
    ?.map((it) => it.replace(/^.*yaml:/, ''))
  expect(told).toEqual([
    '4:54: warning: a Deployment has no spec.containers',
    '5:58: warning: spec has no field "replica"',
  ])
})
