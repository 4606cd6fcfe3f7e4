import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { programMain } from '../program.ts'
import { deployToolsFolder } from '../servers/deploy-tools.ts'
import { kubernetesAssets } from '../servers/kubernetes.ts'
import { type ApplyBed, startApplyBed } from './apply.ts'
import { ROOT, renderOverlay } from './render.ts'

const shellIn = (text: string) => [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block)
const KUSTOMIZE = readFileSync(join(ROOT, 'deploy/kustomize/README.md'), 'utf8')
const README = readFileSync(join(ROOT, 'deploy/helm/kubeherald/README.md'), 'utf8')
const SHELL = shellIn(README)
const [VALUES = ''] = [...README.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, block = '']) => block)

let bed: ApplyBed
let dir: string
beforeAll(async () => {
  bed = await startApplyBed()
  await bed.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }])
  dir = mkdtempSync(join(tmpdir(), 'kubeherald-readme-'))
  symlinkSync(join(ROOT, 'deploy'), join(dir, 'deploy'))
  writeFileSync(join(dir, 'kubeherald'), `#!/bin/sh\nexec ${process.execPath} ${programMain()} "$@"\n`)
  chmodSync(join(dir, 'kubeherald'), 0o755)
})
afterAll(async () => {
  await bed?.[Symbol.asyncDispose]()
  rmSync(dir, { recursive: true, force: true })
})

/** Types commands of the page, in a folder beside `deploy`. */
function type(commands: string): { status: number | null; output: string } {
  const PATH = `${dir}:${deployToolsFolder()}:${kubernetesAssets()}:${process.env['PATH']}`
  const env = { PATH, HOME: dir, KUBECONFIG: bed.kubernetes.kubeconfig }
  const { status, stdout, stderr } = spawnSync('sh', ['-ec', commands], { cwd: dir, env, encoding: 'utf8' })
  return { status, output: stdout + stderr }
}

test('the commands of the kustomization install it', async () => {
  const [commands = ''] = shellIn(KUSTOMIZE)
  const output = expect.stringContaining('deployment.apps/kubeherald serverside-applied')
  expect(type(commands)).toMatchObject({ status: 0, output })
  // Helm installs things of the same names next.
  await bed.kubernetes.request('DELETE', '/api/v1/namespaces/kubeherald/secrets/kubeherald-redis')
  for (const manifest of await renderOverlay(join(ROOT, 'deploy/kustomize/overlays/single')))
    if (manifest.kind !== 'Namespace') await bed.kubernetes.request('DELETE', await bed.pathOf(manifest))
})

test('the first commands install it', () => {
  const [install = '', tested = ''] = SHELL[0]?.split(/\n(?=helm test)/) ?? []
  expect(type(install)).toMatchObject({ status: 0, output: expect.stringContaining('STATUS: deployed') })
  // It would wait for pods; another suite lets them run.
  expect(tested).toBe('helm test kubeherald --namespace kubeherald\n')
})

test('the values and the commands for permissions of one’s own change it', async () => {
  writeFileSync(join(dir, 'values.yaml'), VALUES)
  writeFileSync(join(dir, 'kubeherald.yaml'), stringify(parse(VALUES).config))
  const commands = SHELL[1]?.split('\n') ?? []
  const ran = type(commands.join('\n'))
  expect(ran).toMatchObject({ status: 0, output: expect.stringContaining('has been upgraded') })
  const role: any = await bed.kubernetes.request(
    'GET',
    '/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles/kubeherald-kubeherald',
  )
  expect(role.rules).toEqual([{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['list', 'watch'] }])
})

test('a configuration of one’s own becomes values by the command of the page', () => {
  writeFileSync(join(dir, 'kubeherald.yaml'), stringify(parse(VALUES).config))
  const [, command = ''] = /`(\(echo config:[^`]*)`/.exec(README) ?? []
  expect(type(command)).toEqual({ status: 0, output: '' })
  expect(parse(readFileSync(join(dir, 'config.yaml'), 'utf8'))).toEqual({ config: parse(VALUES).config })
})

test('the commands of docs/quick-start.md install it, in a namespace of their own', async () => {
  const page = readFileSync(join(ROOT, 'docs/quick-start.md'), 'utf8')
  for (const name of ['kubeherald.yaml', 'values.yaml']) {
    const [, text = ''] = new RegExp(`\`\`\`yaml\\n(# ${name}\\n[\\s\\S]*?)\`\`\``).exec(page) ?? []
    writeFileSync(join(dir, name), text)
  }
  const install = shellIn(page).find((commands) => commands.includes('helm upgrade --install')) ?? ''
  const here = install
    .replaceAll('npx kubeherald', 'kubeherald')
    .replace('oci://ghcr.io/kubeherald/charts/kubeherald', 'deploy/helm/kubeherald')
    .replace('create namespace kubeherald', 'create namespace quick')
    .replaceAll(/(-n|--namespace) kubeherald/g, '$1 quick')
  expect(type('helm uninstall kubeherald --namespace kubeherald')).toMatchObject({ status: 0 })
  const ran = type(`SLACK_URL=https://hooks.slack.example.com/services/x\n${here}`)
  expect(ran).toMatchObject({ status: 0, output: expect.stringContaining('STATUS: deployed') })
  const role: any = await bed.kubernetes.request(
    'GET',
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/quick-kubeherald',
  )
  expect(role.rules.flatMap((it: { resources: string[] }) => it.resources)).toEqual(
    expect.arrayContaining(['events', 'pods', 'deployments']),
  )
})

test('the commands of docs/recipes/operation.md install two replicas with an audit trail on a volume', async () => {
  const page = readFileSync(join(ROOT, 'docs/recipes/operation.md'), 'utf8')
  const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, block = '']) => block)
  const blockWith = (text: string) => blocks.find((it) => it.includes(text)) ?? ''
  const values = blocks.filter((it) => it.startsWith('# values.yaml')).map((it) => parse(it))
  writeFileSync(join(dir, 'kubeherald.yaml'), blockWith('type: file'))
  writeFileSync(join(dir, 'values.yaml'), stringify(Object.assign({}, ...values)))
  writeFileSync(join(dir, 'claim.yaml'), blockWith('# claim.yaml'))
  const [claim = '', install = ''] = shellIn(page).map((commands) =>
    commands
      .replace('oci://ghcr.io/kubeherald/charts/kubeherald', 'deploy/helm/kubeherald')
      .replaceAll(/(-n|--namespace) kubeherald/g, '$1 audit'),
  )
  expect(type(install)).toMatchObject({ status: 0, output: expect.stringContaining('STATUS: deployed') })
  expect(type(claim)).toMatchObject({ status: 0 })
  const get = (path: string): Promise<any> => bed.kubernetes.request('GET', path)
  const { spec } = await get('/apis/apps/v1/namespaces/audit/deployments/kubeherald')
  expect(spec.replicas).toBe(2)
  const { path } = parse(blockWith('type: file')).sinks.audit
  expect(spec.template.spec.containers[0].volumeMounts).toContainEqual({
    name: 'audit',
    mountPath: dirname(path),
  })
  const { data } = await get('/api/v1/namespaces/audit/configmaps/kubeherald')
  expect(parse(data['kubeherald.yaml'], { merge: true })).toMatchObject({
    leases: true,
    sinks: { audit: { path } },
  })
  await get('/apis/rbac.authorization.k8s.io/v1/namespaces/audit/roles/kubeherald-leases')
  const role = await get('/apis/rbac.authorization.k8s.io/v1/clusterroles/audit-kubeherald')
  expect(role.rules.flatMap((it: { resources: string[] }) => it.resources)).toContain('statefulsets')
})

test('what the memory of a pod is, is what the sizing says', () => {
  const { requests, limits } = parse(
    readFileSync(join(ROOT, 'deploy/helm/kubeherald/values.yaml'), 'utf8'),
  ).resources
  const memory = (text: string) => text.replace('Mi', ' Mi')
  const sizing = readFileSync(join(ROOT, 'deploy/README.md'), 'utf8')
  expect(sizing).toContain(`request ${memory(requests.memory)} and limit it to ${memory(limits.memory)} |`)
  expect(sizing).toContain(`Chart and kustomization request ${requests.cpu}.`)
})

test.each(['single', 'namespaced'])('the changes of the page fit the overlay %s', async (overlay) => {
  const folder = join(dir, `own-${overlay}`)
  cpSync(join(ROOT, 'deploy/kustomize'), folder, { recursive: true })
  const [, changes = ''] = /```yaml\n([\s\S]*?)```/.exec(KUSTOMIZE) ?? []
  appendFileSync(join(folder, 'overlays', overlay, 'kustomization.yaml'), changes)
  const manifests = await renderOverlay(join(folder, 'overlays', overlay))
  const pods = manifests.flatMap(({ spec }) => (spec?.template ? [spec.template.spec] : []))
  expect(pods).toHaveLength(2)
  for (const { containers, securityContext } of pods) {
    expect(containers[0].image).toMatch(/^registry\.example\.com\//)
    expect(Object.keys(securityContext)).toEqual(['fsGroupChangePolicy', 'runAsNonRoot', 'seccompProfile'])
  }
})
