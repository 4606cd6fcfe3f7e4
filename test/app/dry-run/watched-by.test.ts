import { describe, expect, it, test } from 'vitest'
import { watchedBy } from '../../../src/app/dry-run/match-report.ts'
import type { ClusterEvent, Resource } from '../../../src/model/event.ts'
import { openDesk } from '../../cli/cli.ts'
import { runHere } from '../../cli/here.ts'
import { clusterEvent, DATABASE, DEPLOYMENT, EVENT, NODE, POD } from '../../rules/events.ts'

/** Returns the index of the entry that selects an object. */
function entryOf(
  watch: Parameters<typeof watchedBy>[0],
  resource: Resource,
  object: Record<string, unknown> = {},
): number | undefined {
  const event = clusterEvent({ resource })
  const described = { ...Object.getOwnPropertyDescriptors(event), object: { value: object } }
  return watchedBy(watch, Object.defineProperties({}, described) as ClusterEvent).entry
}

describe('a short name that no built-in kind has', () => {
  const entries = (...kinds: string[]) => kinds.map((kind) => ({ kind }))

  it('may select a custom resource, of its group if it names one', () => {
    expect(entryOf(entries('Pod', 'db'), DATABASE)).toBe(1)
    expect(entryOf(entries('db.stable.example.com'), DATABASE)).toBe(0)
    expect(entryOf(entries('db.other.example.com'), DATABASE)).toBeUndefined()
  })

  it('selects no built-in kind, and nothing that another entry is for', () => {
    expect(entryOf(entries('db'), DEPLOYMENT)).toBeUndefined()
    expect(entryOf(entries('db', 'databases'), DATABASE)).toBe(1)
    expect(entryOf([{ kind: 'db' }, { kind: 'Database', namespaces: ['pay'] }], DATABASE)).toBeUndefined()
  })

  it.each([
    ['gitrepo', 'GitRepository', true],
    ['gitrepo.source.toolkit.fluxcd.io', 'GitRepository', true],
    ['appproj', 'AppProject', true],
    ['ciliumep', 'CiliumEndpoint', true],
    ['vminstancetype', 'VirtualMachineInstancetype', true],
    ['vmipreset', 'VirtualMachineInstancePreset', true],
    ['gitrepo', 'HelmRepository', false],
    ['gitrepositry', 'GitRepository', false],
    ['repository', 'GitRepository', false],
    ['appsets', 'ApplicationSet', true],
    ['vmsnapshots', 'VirtualMachineSnapshot', true],
    ['certificate', 'CertificateRequest', false],
    ['certificates', 'CertificateRequest', false],
    ['gateways', 'GatewayClass', false],
    ['externalsecrets', 'ExternalSecretStore', false],
    ['policies', 'PolicyInstance', false],
    ['classes', 'ClassEntry', false],
    ['clusterpolicy', 'ClusterCleanupPolicy', false],
    ['ciliumnetworkpolicy', 'CiliumClusterwideNetworkPolicy', false],
  ])('may be longer, of letters of the kind: %s of %s is %j', (word, kind, isSelected) => {
    const resource = {
      ...DATABASE,
      group: 'source.toolkit.fluxcd.io',
      kind,
      plural: `${kind.toLowerCase()}s`,
    }
    expect(entryOf(entries(word), resource)).toBe(isSelected ? 0 : undefined)
  })

  it('selects by its namespaces', () => {
    expect(entryOf([{ kind: 'db', namespaces: ['pay'] }], DATABASE)).toBeUndefined()
    expect(entryOf([{ kind: 'db', namespaces: ['shop'] }], DATABASE)).toBe(0)
  })

  test('a custom resource in a test reaches the rules', async () => {
    using desk = openDesk()
    desk.write('kubeherald.yaml', CERTIFICATES)
    const { code, stdout } = await runHere(desk, 'test')
    expect(stdout).toMatch(/\n1 passed/)
    expect(code).toBe(0)
  })
})

const CERTIFICATES = `
watch: [cert]
sinks: { screen: { type: stdout } }
rules: [{ name: all, when: { kind: Certificate }, to: screen }]
tests:
  - name: a certificate
    given: { apiVersion: cert-manager.io/v1, kind: Certificate, metadata: { namespace: shop, name: web } }
    expect: { rule: all }
`

const job: Resource = { ...DEPLOYMENT, group: 'batch', kind: 'Job', plural: 'jobs' }

test.each<[fields: string, resource: Resource, object: Record<string, unknown>, isSelected: boolean]>([
  ['spec.unschedulable=false', NODE, { spec: {} }, true],
  ['spec.unschedulable!=false', NODE, {}, false],
  ['spec.unschedulable=false', NODE, { spec: { unschedulable: true } }, false],
  ['spec.hostNetwork=false', POD, { spec: {} }, true],
  ['spec.hostNetwork=true', POD, { spec: { hostNetwork: true } }, true],
  ['status.successful=0', job, { status: {} }, true],
  ['status.successful=2', job, { status: { succeeded: 2 } }, true],
  ['spec.paused=false', DATABASE, { spec: {} }, false],
  ['source=kubelet', EVENT, { source: { component: 'kubelet' } }, true],
  ['source=kubelet', EVENT, { source: {}, reportingComponent: 'kubelet' }, true],
  ['source=kubelet', EVENT, { source: { component: 'scheduler' }, reportingComponent: 'kubelet' }, false],
  ['reason!=Pulled,type=Warning', EVENT, { reason: 'Failed', type: 'Warning' }, true],
  ['spec.name=a\\,b\\=c\\\\', DATABASE, { spec: { name: 'a,b=c\\' } }, true],
])('the fields %s are those of the API server', (fields, resource, object, isSelected) => {
  expect(entryOf([{ kind: resource.kind, fields }], resource, object)).toBe(isSelected ? 0 : undefined)
})

test('a deletion that a list found, with unknown fields, was watched', () => {
  const event = { ...Object.getOwnPropertyDescriptors(clusterEvent({ resource: POD })) }
  const deletion = (synthesized: boolean) =>
    Object.defineProperties(
      {},
      {
        ...event,
        object: { value: { metadata: { name: 'web' } } },
        type: { value: 'DELETED' },
        synthesized: { value: synthesized },
      },
    ) as ClusterEvent
  const watch = [{ kind: 'Pod', fields: 'status.phase=Running' }]
  expect([true, false].map((it) => watchedBy(watch, deletion(it)).entry)).toEqual([0, undefined])
})
