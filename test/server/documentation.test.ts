import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { LEASE_RIGHTS } from '../../src/rights/leases.ts'
import { PAGES, textOf, yamlIn } from './documentation.ts'

const ROOT = new URL('../../', import.meta.url)
const BLOCKS = PAGES.flatMap(yamlIn)

test.each(BLOCKS.map((it) => [it.place, it] as const))('the YAML at %s can be read', (_, { document }) => {
  expect([...document.errors, ...document.warnings]).toEqual([])
})

interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string }
  rules?: { apiGroups: string[]; resources: string[]; verbs: string[] }[]
  roleRef?: { apiGroup: string; kind: string; name: string }
  subjects?: { kind: string; name: string; namespace: string }[]
}

const MANIFESTS = BLOCKS.map(({ place, document }) => [place, document.toJS() as Manifest] as const).filter(
  ([, it]) => it.kind ?? it.roleRef ?? it.rules?.[0]?.verbs,
)

test('there are manifests of rights', () => {
  expect(MANIFESTS.map(([, { kind }]) => kind)).toContain('Role')
})

test.each(MANIFESTS)('the manifest at %s is complete', (_, { apiVersion, kind, metadata, ...rest }) => {
  expect(metadata.name).toMatch(/^[a-z-]+$/)
  if (kind === 'ServiceAccount') return expect(apiVersion).toBe('v1')
  expect(apiVersion).toBe('rbac.authorization.k8s.io/v1')
  const { rules = [], roleRef, subjects = [] } = rest
  if (kind.endsWith('Binding')) {
    const roles = MANIFESTS.map(([, it]) => it).filter((it) => it.kind === roleRef?.kind)
    expect(roles.map((it) => it.metadata.name)).toContain(roleRef?.name)
    return expect(subjects).toEqual([{ kind: 'ServiceAccount', name: 'kubeherald', namespace: 'kubeherald' }])
  }
  expect(kind).toMatch(/^(Cluster)?Role$/)
  expect(rules.length).toBeGreaterThan(0)
  for (const rule of rules) {
    expect(rule.apiGroups.length * rule.resources.length).toBeGreaterThan(0)
    expect(['get', 'list,watch', LEASE_RIGHTS.verbs.join()]).toContain(rule.verbs.join())
  }
})

test.each(PAGES)('the links of %s lead somewhere', (page) => {
  const links = [...textOf(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, link = '']) => link)
  for (const link of links) {
    const [path = '', anchor] = link.split('#')
    const target = path === '' ? new URL(page, ROOT) : new URL(path, new URL(page, ROOT))
    expect(existsSync(target), `${page}: ${link}`).toBe(true)
    if (anchor !== undefined) expect(headingsOf(target), `${page}: ${link}`).toContain(anchor)
  }
})

function headingsOf(target: URL): string[] {
  const text = textOf(target.pathname.slice(ROOT.pathname.length))
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^a-z0-9 -]/g, '')
      .replaceAll(' ', '-'),
  )
}
